"""Views of decision maps."""
