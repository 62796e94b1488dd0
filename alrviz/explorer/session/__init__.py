"""One visitor: the state and its link, the table that is loaded, the work that is waited for."""
