"""What can be asked of leads over HTTP? Submissions, reads, changes, and why a lead is (not) contacted."""
