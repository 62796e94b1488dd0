"""Parts that all views share: display in notebooks, saving, buttons, the pump, styles."""
