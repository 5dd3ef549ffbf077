# SPDX-License-Identifier: MIT
# Reads a page of HTML strictly: every element is closed where it must be, no attribute stands twice. What a browser would
# mend is an error here.
from html.parser import HTMLParser

VOID = {"meta", "br", "hr", "img", "input", "link"}
# What makes a browser load something, or run something.
LOADING = {"src", "srcset", "href", "xlink:href", "action", "data", "poster", "background", "formaction"}


class Element:
    def __init__(self, name, attributes, parent):
        self.name, self.attributes, self.parent = name, attributes, parent
        self.children = []  # elements and texts

    def each(self, name):
        for child in self.children:
            if isinstance(child, Element):
                if child.name == name:
                    yield child
                yield from child.each(name)

    def everything(self):
        yield self
        for child in self.children:
            if isinstance(child, Element):
                yield from child.everything()

    def first(self, name):
        return next(self.each(name), None)

    @property
    def text(self):
        return "".join(child if isinstance(child, str) else child.text for child in self.children)

    def ancestors(self):
        parent = self.parent
        while parent:
            yield parent
            parent = parent.parent


class Page(HTMLParser):
    """self.root: the document; self.wrong: what is not as it must be."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.root = self.open = Element("", {}, None)
        self.wrong = []
        self.feed(text)
        self.close()
        if self.open is not self.root:
            self.wrong.append(f"<{self.open.name}> is not closed")
        ids = [e.attributes["id"] for e in self.root.everything() if "id" in e.attributes]
        self.wrong += [f"id {one} is there twice" for one in set(ids) if ids.count(one) > 1]

    def handle_starttag(self, tag, attrs):
        names = [name for name, _ in attrs]
        if len(set(names)) != len(names):
            self.wrong.append(f"<{tag}>: an attribute is there twice")
        element = Element(tag, dict(attrs), self.open)
        self.open.children.append(element)
        if tag not in VOID:
            self.open = element

    def handle_startendtag(self, tag, attrs):  # of SVG
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.open = self.open.parent

    def handle_endtag(self, tag):
        if tag != self.open.name:
            self.wrong.append(f"</{tag}> at line {self.getpos()[0]}, where <{self.open.name}> is open")
        if self.open.parent:
            self.open = self.open.parent

    def handle_data(self, data):
        self.open.children.append(data)

    def unknown_decl(self, data):
        self.wrong.append(f"<![{data[:20]}")

    def loads(self):
        """What is loaded or run from elsewhere."""
        found = []
        for element in self.root.everything():
            for name, value in element.attributes.items():
                if (name in LOADING and not (value or "").startswith("#")) or name.startswith("on"):
                    found.append(f"{element.name} {name}={value}")
            if element.name in ("link", "iframe", "object", "embed", "base", "img", "form"):
                found.append(element.name)
            if element.name == "style" and ("url(" in element.text.replace("url(#", "") or "@import" in element.text):
                found.append("style")
        return found
