"""What every view shares: notebooks, saving, buttons, tasks off the event loop, the style of its HTML."""
