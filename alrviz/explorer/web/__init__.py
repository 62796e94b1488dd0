"""The HTTP side of the explorer: the guard of a server, the page, its websocket, and the pages of races and classes."""

SERVER_SETTING = "alrviz_server"  # of a Tornado application: a weak reference to its server
