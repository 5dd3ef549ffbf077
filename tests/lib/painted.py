# SPDX-License-Identifier: MIT
"""What a picture (SVG) shows in its light and in its dark form: whether its texts can be read and its boxes seen, computed from
its rules and not by the program that draws. Boxes and texts are painted in their order; the colour behind a text is what
the boxes below it make together."""
import re
import xml.etree.ElementTree as ElementTree

SPACE = "{http://www.w3.org/2000/svg}"
DARK = re.compile(r"@media \(prefers-color-scheme:dark\)\{((?:[^{}]*\{[^{}]*\})*)\}")
LEAST_CONTRAST = 4.5  # of texts (WCAG 2.2, 1.4.3)


def linear(part):
    return part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4


def luminance(colour):
    return sum(share * linear(part) for share, part in zip((0.2126, 0.7152, 0.0722), colour))


def contrast(one, other):
    light, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def parse(colour):
    digits = re.fullmatch("#([0-9a-f]{6}|[0-9a-f]{3})", colour.lower()).group(1)
    digits = digits if len(digits) == 6 else "".join(2 * digit for digit in digits)
    return tuple(int(digits[at:at + 2], 16) / 255 for at in (0, 2, 4))


class Picture:
    """An SVG in one of its forms."""

    def __init__(self, text, dark):
        self.root = ElementTree.fromstring(text)
        styles = "".join(style.text for style in self.root.iter(SPACE + "style"))
        forms = DARK.findall(styles)
        self.is_two = len(forms) == 1
        self.rules = re.findall(r"([^{}]+)\{([^{}]*)\}", DARK.sub("", styles) + ("".join(forms) if dark else ""))
        self.own = {name: self.declared(self.root).get(name, self.root.get(name)) for name in ("fill", "font-size")}
        self.texts, self.boxes, self.paper = [], [], None
        self.paint()

    def declared(self, element):
        """Rules of classes; all here are `.lull` or `.lull .x`, and the later one wins."""
        classes, found = (element.get("class") or "").split(), {}
        for selector, body in self.rules:
            names = [name.lstrip(".") for name in selector.split()]
            if names == classes[:1] == ["lull"] or (len(names) == 2 and names[1] in classes):
                found.update(part.split(":", 1) for part in body.split(";") if part)
        return found

    def value(self, element, name, otherwise):
        return self.declared(element).get(name) or element.get(name) or otherwise

    def behind(self, x, y):
        colour = self.paper
        for left, top, width, height, fill, opacity in self.boxes:
            if left <= x <= left + width and top <= y <= top + height:
                colour = tuple(opacity * new + (1 - opacity) * old for new, old in zip(fill, colour))
        return colour

    def paint(self):
        for element in self.root.iter():
            fill = parse(self.value(element, "fill", self.own["fill"])) if element.tag in (SPACE + "rect", SPACE + "text") else None
            if element.tag == SPACE + "rect" and element.get("width") == "100%":
                self.paper = fill
            elif element.tag == SPACE + "rect":
                place = [float(element.get(name)) for name in ("x", "y", "width", "height")]
                self.boxes.append((*place, fill, float(self.value(element, "fill-opacity", "1"))))
            elif element.tag == SPACE + "text":
                size = float(self.value(element, "font-size", self.own["font-size"]).replace("px", ""))
                aside = {"end": -1, "middle": 0}.get(self.value(element, "text-anchor", "start"), 1) * size / 4
                behind = self.behind(float(element.get("x")) + aside, float(element.get("y")) - size / 3)
                self.texts.append((element.text, contrast(fill, behind)))


def faults(text):
    """What is wrong with a picture: texts that cannot be read, boxes that look like the paper, no dark form."""
    forms = {name: Picture(text, name == "dark") for name in ("light", "dark")}
    found = [(name, *said) for name, form in forms.items() for said in form.texts if said[1] < LEAST_CONTRAST]
    found += [(name, "unseen", box) for name, form in forms.items() for box in form.boxes
              if contrast(form.behind(box[0] + box[2] / 2, box[1] + box[3] / 2), form.paper) < 1.1]
    found += ["no dark form"] * (not forms["light"].is_two)
    found += ["light when it is dark"] * (luminance(forms["dark"].paper) > 0.1)
    return found + ["no text"] * (not forms["light"].texts)
