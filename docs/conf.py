"""The site: Sphinx, MyST and furo. `make docs` builds it; a warning is an error there."""

import sys
from pathlib import Path

import kernelgauge

sys.path.insert(0, str(Path(__file__).parent / "_ext"))

project = "kernelgauge"
author = "the kernelgauge authors"
project_copyright = "the kernelgauge authors, MIT licence"
version = release = kernelgauge.__version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx_copybutton", "generated"]
exclude_patterns = ["_ext", "_static", "images/*.md"]
source_suffix = {".md": "markdown"}
default_role = "code"
smartquotes = False  # a dash before an option is no dash of a sentence
nitpicky = True
# Types of other packages, and names that no page of the reference shows: nothing to link to.
nitpick_ignore_regex = [("py:.*", r"(?!kernelgauge\.(Session|evaluate|load|load_problem|profile|run)\b).*")]
linkcheck_anchors = False
linkcheck_timeout = 20

myst_enable_extensions = ["colon_fence", "deflist", "linkify"]
myst_linkify_fuzzy_links = False
myst_heading_anchors = 4

autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_typehints_format = "short"
autodoc_preserve_defaults = True
python_use_unqualified_type_names = True
maximum_signature_line_length = 80

html_theme = "furo"
html_title = "kernelgauge"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_show_sourcelink = False
html_copy_source = False
copybutton_prompt_text = r"\$ |>>> "
copybutton_prompt_is_regexp = True
