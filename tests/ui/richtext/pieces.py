"""Scraps of Markdown for property tests."""

PIECES = [
    "word ", "**bold** ", "*it* ", "`code` ", "~~gone~~ ", "[a](https://b.example) ", "\n", "\n\n",
    "- item\n", "* other\n", "1. one\n", "2. two\n", "7) seven\n", "  - nested\n", "   more\n",
    "    indented\n", "> quote\n", ">> deep\n", "# Title\n", "### Sub\n", "---\n", "===\n",
    "```python\n", "```\n", "~~~\n", "``", "| a | b |\n", "|---|:-:|\n", "| 1 | 2 |\n", "\t", "\r\n",
    "\r", "<b>x</b> ", "![pic](file:///etc/passwd) ", "[ref]: https://c.example\n", "- ", "-\n",
    "1.", " ", "\\", "&amp; ", "\0", "  \n", "中文", "🙂",
]  # fmt: skip
