"""What does a schedule say? Its steps in order, branches and filters, the text of its templates."""
