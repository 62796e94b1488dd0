"""A view's page as a file: it needs neither a network nor Python."""

import json
from html import escape

from bokeh.core.json_encoder import serialize_json
from bokeh.document import Document
from bokeh.embed.util import standalone_docs_json_and_render_items
from panel.viewable import Viewable

from alrviz.views.core.notebook_comm import MATERIAL_BUNDLE, resource, strip_remote_assets

_PAGE_TEMPLATE = """<!DOCTYPE html>
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


def page_html(layout: Viewable, title: str, view_text: str) -> str:
    """Return a self-contained page with this title of a Panel layout; `view_text` is shown if scripts are disabled."""
    document = Document()
    root = layout._render_model(document)
    try:
        strip_remote_assets(root)
        documents, _ = standalone_docs_json_and_render_items([root], suppress_callback_warning=True)
        values_by_placeholder = {
            "esm": resource(MATERIAL_BUNDLE),
            "document": serialize_json(documents),
            "root": root.ref["id"],
            "name": MATERIAL_BUNDLE,
        }
        literals = {name: json.dumps(part).replace("</", "<\\/") for name, part in values_by_placeholder.items()}
    finally:
        layout._cleanup(root)
    scripts = {name: resource(name).replace("</script", "<\\/script") for name in ("font", "scripts")}
    return _PAGE_TEMPLATE.format(title=escape(title), words=escape(view_text), **scripts, **literals)
