"""ShareGPT's saved web pages as Markdown. Only a value that *is* HTML is touched, never code that merely holds a `<`.

It knows one conversation's values, not roles. Conversion itself is markdownify's; this removes the page's own parts.
"""

import re
from collections.abc import Sequence

_BLOCK = re.compile(r"\s*(?:\d+ / \d+\s*)?<(?:div|p|ul|ol|pre|h[1-6]|table|blockquote|span|article|section|br)\b[^>]*>", re.IGNORECASE)
_END = re.compile(
    r"</(?:div|p|ul|ol|pre|h[1-6]|table|blockquote|span|article|section)>\s*(?:Copy code|\d+ / \d+)?\s*\Z|<br ?/?>\s*\Z", re.IGNORECASE
)
_PAGE = re.compile(r"""class="[^"]*\b(?:markdown|prose|whitespace-pre-wrap|hljs|flex)\b|Copy code""")
_ABOUT_MARKUP = re.compile(
    r"\b(?:html|css|web ?(?:page|site)|markup|xml|svg|jsx|react|vue|angular|dom|div|tags?|elements?|snippet|template)\b", re.IGNORECASE
)
_COUNTER = re.compile(r"^[ \t]*(?:\d+ / \d+|Copy code|Copy\d+ chars / \d+ words)[ \t]*$\n?", re.MULTILINE)
_TRAILING_BUTTON = re.compile(r"[ \t]*Copy code[ \t]*\Z")
_MANY_BREAKS = re.compile(r"\n{3,}")
_LANGUAGE = re.compile(r"language-([\w+#.-]+)")


def is_html(text: str) -> bool:
    """Whether the text begins and ends with a block element, as a saved answer does."""
    return bool(_BLOCK.match(text)) and bool(_END.search(text[-400:]))


def saved_page(said: Sequence[str], asked: Sequence[str]) -> bool:
    """Whether a conversation's values are HTML: one is plainly of a page, or all that was said is and nobody had asked for markup."""
    spoken = [text for text in said if text.strip()]
    pages = [text for text in spoken if is_html(text)]
    if any(_PAGE.search(text) for text in pages):
        return True
    return bool(pages) and len(pages) == len(spoken) and not any(_ABOUT_MARKUP.search(_text_only(text)) for text in asked)


def to_markdown(text: str) -> str:
    """Markdown of an HTML value: code blocks with their language, no buttons, no `1 / 2` counters."""
    from bs4 import BeautifulSoup  # noqa: PLC0415 - slow to import, and needed by one dialect only
    from markdownify import MarkdownConverter  # noqa: PLC0415

    page = BeautifulSoup(text, "html.parser")
    for unwanted in page(["button", "svg", "script", "style"]):
        unwanted.decompose()
    for block in page("pre"):
        code = block.find("code")
        if code is None:
            continue
        language = _LANGUAGE.search(" ".join(code.get("class") or ()))
        code.extract()
        block.clear()
        block.append(code)
        block["data-language"] = language[1] if language else ""
    converter = MarkdownConverter(
        heading_style="ATX",
        bullets="-",
        escape_asterisks=False,
        escape_underscores=False,
        escape_misc=False,
        code_language_callback=lambda element: element.get("data-language") or None,
    )
    markdown: str = converter.convert_soup(page)
    cleaned = _TRAILING_BUTTON.sub("", _COUNTER.sub("", markdown).strip())
    return _MANY_BREAKS.sub("\n\n", cleaned).strip()


def _text_only(text: str) -> str:
    return re.sub(r"<[^<>]*>", " ", text)
