# SPDX-License-Identifier: MIT
# Small faults for C sources: where a file can be broken in one place, and how (for tools/mutate.py).
#
# There is no parser: tokens, matching brackets and the form that clang-format gives all sources are enough to know
# operators, conditions, statements, returned values and arguments. What does not compile is left to the compiler.
import re
from typing import NamedTuple

TOKEN = re.compile(r"""
      (?P<skip>/\*.*?\*/ | //[^\n]* | \s+)
    | (?P<directive>(?m:^)[ \t]*\#(?:[^\n\\]|\\.)*)
    | (?P<string>[uUL]?"(?:[^"\\\n]|\\.)*" | '(?:[^'\\\n]|\\.)*')
    | (?P<number>\.?[0-9](?:[eEpP][+-]|[\w.])*)
    | (?P<name>[A-Za-z_]\w*)
    | (?P<operator>\.\.\. | <<= | >>= | -> | \+\+ | -- | << | >> | <= | >= | == | != | && | \|\| | [-+*/%&|^]= | .)
    """, re.VERBOSE | re.DOTALL)
# #define NAME 20
NUMBER_MACRO = re.compile(r"[ \t]*#\s*define\s+\w+\s+\(?(?P<number>[0-9]\w*)\)?\s*(?:/[/*][^\n]*)?\Z")

RELATIONS = {"<": ["<=", ">="], "<=": ["<", ">"], ">": [">=", "<="], ">=": [">", "<"], "==": ["!="], "!=": ["=="]}
LOGIC = {"&&": ["||"], "||": ["&&"]}
ARITHMETIC = {"+": ["-"], "-": ["+"], "*": ["/"], "/": ["*"], "%": ["/"], "&": ["|"], "|": ["&"], "<<": [">>"],
              ">>": ["<<"]}
ASSIGNMENTS = {"+=": ["-="], "-=": ["+="], "|=": ["&="], "&=": ["|="], "++": ["--"], "--": ["++"]}
WORDS = {"true": ["false"], "false": ["true"], "MIN": ["MAX"], "MAX": ["MIN"]}

CONTROLS = {"if", "for", "while", "switch"}
KEYWORDS = CONTROLS | {
    "auto", "bool", "case", "char", "const", "default", "do", "double", "else", "enum", "extern", "float", "goto", "inline",
    "int", "long", "register", "short", "signed", "sizeof", "static", "struct", "typedef", "union", "unsigned", "void",
    "volatile"}
# Order does not matter to these, or their arguments are no part of the program's work.
NO_SWAP = CONTROLS | {"MIN", "MAX", "sizeof", "return", "defined"}
# What these are given says what the author thinks is so; to break it shows nothing.
ASSERTIONS = re.compile(r"g_assert|g_return_|g_static_assert|G_STATIC_ASSERT|static_assert|_Static_assert|__attribute__|G_GNUC_")


# A leak changes no answer; the sanitized build of CI sees it.
RELEASES = re.compile(r"\w*free\w*\Z|\w+_unref\Z|g_clear_pointer\Z")


class Mutant(NamedTuple):
    """text instead of what stands from start to end."""
    start: int
    end: int
    text: str
    kind: str


class Token(NamedTuple):
    kind: str
    text: str
    start: int
    end: int


def tokenize(text):
    """All tokens that are no white space and no comment."""
    return [Token(match.lastgroup, match.group(), match.start(), match.end())
            for match in TOKEN.finditer(text) if match.lastgroup != "skip"]


class Source:
    """A file as tokens, with what belongs together."""

    def __init__(self, text):
        self.text = text
        self.tokens = [token for token in tokenize(text) if token.kind != "directive"]
        self.directives = [token for token in tokenize(text) if token.kind == "directive"]
        self.partner = {}
        self._match_brackets()
        self._find_blocks()

    def word(self, i):
        return self.tokens[i].text if 0 <= i < len(self.tokens) else ""

    def kind(self, i):
        return self.tokens[i].kind if 0 <= i < len(self.tokens) else ""

    def _match_brackets(self):
        stack = []
        for i, token in enumerate(self.tokens):
            if token.kind != "operator":
                continue
            if token.text in "([{":
                stack.append(i)
            elif token.text in ")]}" and stack:
                other = stack.pop()
                self.partner[i] = other
                self.partner[other] = i

    def _opens_block(self, i, depth):
        """Whether the brace at i opens statements, rather than a type or the values of one."""
        before = self.word(i - 1)
        if before != ")":
            return depth > 0 and before in {"{", "}", ";", ":", "else", "do"}
        opening = self.partner.get(i - 1, 0)
        # A compound literal is a type in parentheses, which follow no name.
        return self.kind(opening - 1) == "name" and self.word(opening - 1) != "return"

    def _find_blocks(self):
        """self.where: for each token the innermost bracket around it; self.result: the type its function returns."""
        self.where, self.result, self.blocks = [], [], set()
        stack, result, head = [], None, 0
        for i, token in enumerate(self.tokens):
            if i in self.partner and token.text in ")]}":
                stack.pop()
            if not stack and token.text in {";", "}"}:
                head, result = i + 1, None
            self.where.append(stack[-1] if stack else None)
            self.result.append(result)
            if i in self.partner and token.text in "([{":
                if token.text == "{" and (not stack or stack[-1] in self.blocks):
                    if self._opens_block(i, len(stack)):
                        self.blocks.add(i)
                        if not stack:
                            result = [self.word(k) for k in range(head, self.partner.get(i - 1, head))][:-1]
                stack.append(i)

    def in_block(self, i):
        return self.where[i] in self.blocks

    def in_function(self, i):
        return self.result[i] is not None

    def is_binary(self, i):
        """clang-format puts white space on both sides of a binary operator, and of nothing else."""
        token = self.tokens[i]
        return self.text[token.start - 1:token.start].isspace() and self.text[token.end:token.end + 1].isspace()

    def in_assertion(self, i):
        """Whether a parenthesis around the token belongs to an assertion or an attribute."""
        around = self.where[i]
        while around is not None:
            if self.word(around) == "(" and ASSERTIONS.match(self.word(around - 1)):
                return True
            around = self.where[around]
        return False

    def starts_statement(self, i):
        before = self.word(i - 1)
        if not self.in_block(i):
            return False
        if before in {";", "{", "}", "else", "do"}:
            return True
        if before == ":":
            return self._is_label(i - 1)
        return before == ")" and self.word(self.partner.get(i - 1, 0) - 1) in CONTROLS

    def _is_label(self, colon):
        i = colon - 1
        while i >= 0 and self.word(i) not in {";", "{", "}", "?", "case", "default", ":"}:
            i -= 1
        return self.word(i) in {"case", "default"}

    def end_of_statement(self, i):
        """The semicolon that ends the statement at i, or None."""
        while i < len(self.tokens):
            if self.word(i) == ";":
                return i
            if self.word(i) in {"}", ")"}:
                return None
            i = self.partner[i] + 1 if self.word(i) in {"(", "[", "{"} and i in self.partner else i + 1
        return None

    def is_declaration(self, i):
        if self.word(i) in KEYWORDS or self.word(i).startswith("g_auto"):
            return True
        if self.kind(i) != "name":
            return False
        after = i + 1
        while self.word(after) == "*":
            after += 1
        return self.kind(after) == "name"

    def splice(self, first, last):
        """What stands from one token to the other, both included."""
        return self.text[self.tokens[first].start:self.tokens[last].end]


def replaced(source, first, last, text, kind):
    start, end = source.tokens[first].start, source.tokens[last].end
    lines = source.text.count("\n", start, end) - text.count("\n")
    return Mutant(start, end, text + "\n" * lines, kind)  # what follows stays on its line


def operators(source, i):
    token = source.tokens[i]
    word = token.text
    if token.kind == "name":
        if word in WORDS and not (word in {"true", "false"} and source.word(i - 1) == "return"):
            yield from ((i, i, other, "word") for other in WORDS[word])
        return
    if token.kind != "operator":
        return
    if word == "!":
        yield i, i, "", "negation"
    yield from ((i, i, other, "assignment") for other in ASSIGNMENTS.get(word, []))
    if source.is_binary(i):
        for table, kind in ((RELATIONS, "relation"), (LOGIC, "logic"), (ARITHMETIC, "arithmetic")):
            yield from ((i, i, other, kind) for other in table.get(word, []))


def constants(source, i):
    """A number, one more and one less; not the sizes of arrays that are declared, nor the 0 of { 0 }."""
    if source.kind(i) != "number":
        return
    if source.word(i - 1) == "{" and source.word(i + 1) == "}":
        return
    before = source.where[i]
    if source.word(i - 1) == "[" and source.word(i + 1) == "]" and source.kind(before - 1) == "name" and \
            (source.kind(before - 2) == "name" or source.word(before - 2) == "*"):
        return
    for sign in "+-":
        yield i, i, f"({source.word(i)} {sign} 1)", "constant"


def conditions(source, i):
    if source.word(i) in {"if", "while"} and source.word(i + 1) == "(" and i + 1 in source.partner:
        last = source.partner[i + 1]
        yield i + 1, last, f"(!{source.splice(i + 1, last)})", "condition"


def statements(source, i):
    """Removes assignments, calls, breaks; changes what is returned."""
    if not source.starts_statement(i):
        return
    last = source.end_of_statement(i)
    word = source.word(i)
    if last is None or source.kind(i) not in {"name", "operator"} or word in {";", "{", "}"}:
        return
    if word == "return":
        if last == i + 1:
            yield i, last, "{}", "statement"
        else:
            yield from returned(source, i + 1, last - 1)
    elif not source.is_declaration(i) and source.word(i + 1) != ":" and \
            not ASSERTIONS.match(word) and not RELEASES.match(word):
        yield i, last, "{}", "statement"


def returned(source, first, last):
    result = set(source.result[first]) - {"static", "inline", "const"}
    if first == last and source.word(first) in {"true", "false"}:
        yield first, last, WORDS[source.word(first)][0], "returned"
    elif "*" in result:
        yield first, last, "NULL", "returned"
    elif result == {"bool"}:
        yield first, last, f"!({source.splice(first, last)})", "returned"
    else:
        yield first, last, f"({source.splice(first, last)}) + 1", "returned"


def arguments(source, i):
    """Two neighbours in a call, swapped; the compiler refuses those whose types forbid it."""
    if source.word(i) != "(" or i not in source.partner or source.kind(i - 1) != "name" or source.word(i - 1) in NO_SWAP:
        return
    last = source.partner[i]
    starts, k = [i + 1], i + 1
    while k < last:
        if source.word(k) == ",":
            starts.append(k + 1)
        k = source.partner[k] + 1 if source.word(k) in {"(", "[", "{"} and k in source.partner else k + 1
    ends = [start - 2 for start in starts[1:]] + [last - 1]
    spans = list(zip(starts, ends))
    for (a, b), (c, d) in zip(spans, spans[1:]):
        one, other = source.splice(a, b), source.splice(c, d)
        if b >= a and d >= c and one != other:
            between = source.text[source.tokens[b].end:source.tokens[c].start]
            yield a, d, other + between + one, "arguments"


def find_mutants(text):
    """All mutants of a file by where they are: a list of lists, one for each place."""
    source = Source(text)
    places = []
    for token in source.directives:
        match = NUMBER_MACRO.match(token.text)
        if match:
            start, end = (token.start + match.start("number"), token.start + match.end("number"))
            places.append([Mutant(start, end, f"({match.group('number')} {sign} 1)", "constant") for sign in "+-"])
    for i in range(len(source.tokens)):
        if source.in_assertion(i):
            continue
        rules = [constants]
        if source.in_function(i):
            rules += [operators, conditions, statements, arguments]
        for rule in rules:
            found = [replaced(source, *what) for what in rule(source, i)]
            if found:
                places.append(found)
    return places
