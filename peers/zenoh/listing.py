#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR Apache-2.0
"""Lists the public items of the reference's crates `zenoh` and `zenoh-ext`, from what rustdoc knows of them.

    peers/zenoh/listing.py > session/tests/api/reference.txt

It builds the documentation of the version below in a folder of its own, as JSON, which needs an unstable option of rustdoc:
some minutes, and no part of any check. With folders as arguments (one each for `zenoh`, `zenoh_ext`) it reads what is there.

A line is: kind, path, signature, and for functions what is given for each parameter: `_` where its type says it, else what the
caller may choose. An item under several paths has its members under the first, and is an `alias` of that under the others.
"""

import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

VERSION = "1.10.2"
PARTS = "keyexpr config core protocol buffers macros result util link collections task".split()


def document(folder, crate):
    """Writes the JSON of a crate and of those that it shows items of."""
    folder = pathlib.Path(folder) / crate
    folder.mkdir(parents=True)
    (folder / "lib.rs").write_text("")
    (folder / "Cargo.toml").write_text(
        '[package]\nname = "listing"\nversion = "0.0.0"\nedition = "2021"\n[lib]\npath = "lib.rs"\n[workspace]\n'
        f'[dependencies]\n{crate} = {{ version = "={VERSION}", features = ["unstable"] }}\n'
    )
    packages = [crate, "zenoh", "uhlc"] + [f"zenoh-{part}" for part in PARTS]
    options = [word for package in packages for word in ("-p", package)]
    flags = "-Zunstable-options --output-format json --cap-lints allow"
    environment = dict(os.environ, RUSTC_BOOTSTRAP="1", RUSTDOCFLAGS=flags)
    command = ["cargo", "doc", "--quiet", "--no-deps", *options]
    subprocess.run(command, cwd=folder, env=environment, check=True)
    return folder / "target/doc"


def only(inner):
    """The kind of an item or a type, and what there is to it."""
    if isinstance(inner, str):
        return inner, None
    ((kind, value),) = inner.items()
    return kind, value


# Types as they are written, without the paths of names.


def written(type):
    if type is None:
        return "()"
    kind, value = only(type)
    if kind == "resolved_path":
        return value["path"].split("::")[-1] + arguments(value.get("args"))
    if kind == "generic":
        return value
    if kind == "primitive":
        return {"unit": "()", "never": "!"}.get(value, value)
    if kind == "borrowed_ref":
        lifetime = value["lifetime"] + " " if value["lifetime"] else ""
        mutable = "mut " if value["is_mutable"] else ""
        return "&" + lifetime + mutable + written(value["type"])
    if kind == "impl_trait":
        return "impl " + " + ".join(map(bound, value))
    if kind == "dyn_trait":
        traits = value["traits"]
        return "dyn " + " + ".join(bound({"trait_bound": one}) for one in traits)
    if kind == "tuple":
        return "(" + ", ".join(map(written, value)) + ")"
    if kind == "slice":
        return "[" + written(value) + "]"
    if kind == "array":
        return "[" + written(value["type"]) + "; " + value["len"] + "]"
    if kind == "qualified_path":
        own = written(value["self_type"])
        return (own if own.isidentifier() else "<" + own + ">") + "::" + value["name"]
    if kind == "function_pointer":
        return "fn(" + ", ".join(written(one) for _, one in value["sig"]["inputs"]) + ")"
    return "_"


def argument(one):
    kind, value = only(one)
    return {"lifetime": lambda: value, "type": lambda: written(value)}.get(kind, lambda: "_")()


def arguments(given):
    kind, value = only(given) if given else (None, None)
    if kind == "angle_bracketed":
        all = list(map(argument, value["args"]))
        for constraint in value.get("constraints", []):
            equal = constraint["binding"].get("equality")
            if equal:
                all.append(constraint["name"] + " = " + written(equal.get("type")))
        return "<" + ", ".join(all) + ">" if all else ""
    if kind == "parenthesized":
        output = " -> " + written(value["output"]) if value["output"] else ""
        return "(" + ", ".join(map(written, value["inputs"])) + ")" + output
    return ""


def bound(one):
    kind, value = only(one)
    if kind == "trait_bound":
        return value["trait"]["path"].split("::")[-1] + arguments(value["trait"].get("args")) if "path" in value["trait"] else ""
    return value if kind == "outlives" else kind


def chosen(generics):
    """What the caller of a function chooses: the names of types, with what has to hold for them."""
    all = {}
    for parameter in generics["params"]:
        kind, value = only(parameter["kind"])
        if kind == "const":
            all[parameter["name"]] = "const"
        elif kind == "type" and not value["is_synthetic"]:
            all[parameter["name"]] = [bound(one) for one in value["bounds"]]
    for where in generics["where_predicates"]:
        where = where.get("bound_predicate")
        name = where and where["type"].get("generic")
        if name in all:
            all[name] += [bound(one) for one in where["bounds"]]
    return {name: " + ".join(b for b in one if b != "Sized") if one != "const" else one for name, one in all.items()}


def signature(function):
    """How a function is declared, and what is given to it."""
    free = chosen(function["generics"])
    inputs, given = [], []
    for name, type in function["sig"]["inputs"]:
        text = written(type)
        inputs.append(text.replace("Self", "self") if name == "self" else text)
        for parameter, what in free.items():
            text = re.sub(rf"\b{parameter}\b", f"({what})", text)
        is_chosen = "impl " in text or any(re.search(rf"\b{name}\b", written(type)) for name in free)
        given.append(text if is_chosen else "_")
    output = function["sig"]["output"]
    parameters = ", ".join(name + (": " + what if what else "") for name, what in free.items())
    return (
        ("async " if function["header"]["is_async"] else "")
        + ("unsafe " if function["header"]["is_unsafe"] else "")
        + (f"<{parameters}>" if free else "")
        + f"({', '.join(inputs)})"
        + (" -> " + written(output) if output else "")
    ), ";".join(given)


def parameters(generics):
    all = []
    for parameter in generics["params"]:
        kind, value = only(parameter["kind"])
        if kind == "type" and value.get("is_synthetic"):
            continue
        default = " = " + written(value["default"]) if kind == "type" and value.get("default") else ""
        all.append(("const " if kind == "const" else "") + parameter["name"] + default)
    return "<" + ", ".join(all) + ">" if all else ""


class Listing:
    def __init__(self, folder, top):
        self.crates, self.lines, self.places = {}, set(), {}
        for file in pathlib.Path(folder).glob("*.json"):
            crate = json.loads(file.read_text())
            crate["own"] = {
                (tuple(path["path"]), path["kind"]): id
                for id, path in crate["paths"].items()
                if path["crate_id"] == 0
            }
            self.crates[crate["index"][str(crate["root"])]["name"]] = crate
        crate = self.crates[top]
        self.walk(crate, crate["index"][str(crate["root"])], [top])
        for (name, id), paths in self.places.items():
            first, *others = sorted(set(map(tuple, paths)), key=lambda path: (abs(len(path) - 3), path))
            crate = self.crates[name]
            self.describe(crate, crate["index"][str(id)], list(first))
            for path in others:
                self.add(path, "alias", "::".join(first))

    def add(self, path, kind, text="", given=""):
        self.lines.add(("::".join(path), kind, text, given))

    def find(self, crate, id):
        """An item, in whichever crate it is."""
        id = str(id)
        if id in crate["index"]:
            return crate, crate["index"][id]
        path = crate["paths"].get(id)
        other = self.crates.get(path["path"][0]) if path else None
        if not other:
            return None, None
        id = other["own"].get((tuple(path["path"]), path["kind"]))
        for (long, kind), candidate in other["own"].items():
            if id is None and kind == path["kind"] and long[-1] == path["path"][-1]:
                id = candidate
        return (other, other["index"][id]) if id in other["index"] else (None, None)

    def walk(self, crate, item, path):
        kind, value = only(item["inner"])
        if any("doc(hidden)" in str(one).replace(" ", "") for one in item.get("attrs", [])):
            return
        if kind != "module":
            self.places.setdefault((crate["index"][str(crate["root"])]["name"], item["id"]), []).append(path)
            return
        if len(path) > 1:
            self.add(path, "module")
        for id in value["items"]:
            self.show(*self.find(crate, id), path)

    def show(self, crate, item, path):
        """An item that a module has, or shows as if it had it."""
        if item is None or item["visibility"] != "public":
            return
        kind, value = only(item["inner"])
        if kind != "use":
            if kind != "impl":
                self.walk(crate, item, path + [item["name"]])
            return
        crate, shown = self.find(crate, value["id"]) if value["id"] is not None else (None, None)
        if shown is None:
            return
        kind, inner = only(shown["inner"])
        if value["is_glob"]:
            for id in inner.get("items", inner.get("variants", [])):
                self.show(*self.find(crate, id), path)
        elif kind == "use":
            self.show(crate, dict(shown, visibility="public"), path)
        else:
            self.walk(crate, shown, path + [value["name"]])

    def describe(self, crate, item, path):
        kind, value = only(item["inner"])
        kind = {"type_alias": "type", "proc_macro": "macro"}.get(kind, kind)
        if kind in ("struct", "enum", "union", "trait"):
            self.add(path, kind, parameters(value["generics"]))
            self.members(crate, kind, value, path)
        elif kind == "function":
            self.add(path, kind, *signature(value))
        else:
            self.add(path, kind, written(value["type"]) if kind in ("type", "constant", "static") else "")

    def members(self, crate, kind, value, path):
        ids = []
        if kind in ("enum", "trait"):
            ids = value["variants" if kind == "enum" else "items"]
        elif kind == "struct" and isinstance(value["kind"], dict):
            ids = value["kind"].get("plain", {}).get("fields", [])
        for id in ids:
            self.member(*self.find(crate, id), path, kind != "struct")
        for id in value.get("impls", []):
            other, found = self.find(crate, id)
            if other and found["inner"]["impl"]["trait"] is None:
                for id in found["inner"]["impl"]["items"]:
                    self.member(*self.find(other, id), path, False)

    def member(self, crate, item, path, is_public):
        hidden = any("doc(hidden)" in str(one).replace(" ", "") for one in item.get("attrs", []))
        if hidden or not (is_public or item["visibility"] == "public"):
            return
        kind, value = only(item["inner"])
        path = path + [item["name"]]
        if kind == "function":
            self.add(path, "method", *signature(value))
        elif kind in ("constant", "assoc_const"):
            self.add(path, "constant of a type", written(value["type"]))
        elif kind == "assoc_type":
            self.add(path, "type of a trait")
        elif kind == "struct_field":
            self.add(path, "field", written(value))
        elif kind == "variant":
            self.add(path, "variant")


def main():
    with tempfile.TemporaryDirectory() as folder:
        for place, crate in enumerate(["zenoh", "zenoh-ext"]):
            given = sys.argv[1:]
            found = given[place] if given else document(folder, crate)
            for path, kind, text, inputs in sorted(Listing(found, crate.replace("-", "_")).lines):
                print("\t".join([kind, path, text, inputs]).rstrip())


main()
