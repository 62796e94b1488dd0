"""HTTP in front of the sessions: the page that is handed out at once, who may ask for what, the pages of spectators."""

SERVER_SETTING = "alrviz_server"  # of a Tornado application: a weak reference to its server
