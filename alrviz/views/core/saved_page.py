"""A view as one HTML file that needs no network and no Python: it shows what was seen when it was saved."""

import json
from html import escape
from typing import Any

from bokeh.core.json_encoder import serialize_json
from bokeh.document import Document
from bokeh.embed.util import standalone_docs_json_and_render_items

from alrviz.views.core.notebook_link import ESM, at_home, resource

_PAGE = """<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>{title}</title>
<link rel="icon" href="data:,"><style>body {{ margin: 16px; font: 16px sans-serif }}</style></head>
<body><div id="view"></div><noscript>{words}</noscript>
<script>{font}</script>
<script>{scripts}</script>
<script>
const esm = {esm}, text = {document}, root = {root};
const waiting = setInterval(() => {{
  if (!window.Bokeh?.Panel) return;
  clearInterval(waiting);
  const json = JSON.parse(text, (_, value) => {{
    if (value?.bundle === {name}) value.esm = esm;
    return value;
  }});
  const item = {{ docid: Object.keys(json)[0], roots: {{ [root]: "view" }}, root_ids: [root] }};
  Bokeh.embed.embed_items_notebook(json, [item]);
}}, 20);
</script></body></html>
"""


def page(layout: Any, title: str, words: str) -> str:
    """Return the page of what Panel lays out; `words` are for readers without scripts."""
    document = Document()
    root = layout._render_model(document)
    try:
        at_home(root)
        documents, _ = standalone_docs_json_and_render_items([root], suppress_callback_warning=True)
        parts = {"esm": resource(ESM), "document": serialize_json(documents), "root": root.ref["id"], "name": ESM}
        inside = {name: json.dumps(part).replace("</", "<\\/") for name, part in parts.items()}
    finally:
        layout._cleanup(root)
    scripts = {name: resource(name).replace("</script", "<\\/script") for name in ("font", "scripts")}
    return _PAGE.format(title=escape(title), words=escape(words), **scripts, **inside)
