"""The explorer: the Panel application over everything below."""

from alrviz.explorer.app import application, preload

__all__ = ["application", "preload"]
