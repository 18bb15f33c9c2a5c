"""What is shown of a lead or a record? Pure rendering of rows into the columns of the interface."""
