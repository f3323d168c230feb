#!/usr/bin/env python3
"""Offline verifier for the evidence of a Tallystick ledger, written from its format page alone.

    verify.py receipt|page|proof|pack|export PATH --key VKEY [--key VKEY ...]
    verify.py receipt|page PATH --key VKEY ... --now EXPORT      also checks that the ledger, as exported, still has the entry
    verify.py --list LIST.json        every item is genuine
    verify.py --altered LIST.json     every item is refuted

Prints `genuine`, `unconfirmed: <why>` or `refuted: <step>: <why>`, then what no hash covers.
Exits 0, 2 or 1 (and 3 for a wrong command line)."""
import base64
import hashlib
import json
import os
import re
import stat
import struct
import sys
import zlib
from contextlib import contextmanager

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

MAX_SAFE = 2 ** 53 - 1
MAX_JSON = 16 << 20       # bytes of one JSON text
MAX_NOTE = 1 << 20        # bytes of a proof, a checkpoint, a key
MAX_PACK = 256 << 20      # bytes of a ZIP
MAX_EVENTS = 10_000       # entries of one page; the page of the format names no limit
MAX_FILES = 500_000       # files of an export
KINDS = ["event", "consent", "policy", "erasure", "key", "anchor", "retention", "admin"]
RESERVED = {"_sd", "_sd_alg", "...", "__proto__"}
HEX64 = re.compile(r"[0-9a-f]{64}\Z")
HEX32 = re.compile(r"[0-9a-f]{32}\Z")


class Wrong(Exception):
    """Something does not hold; the step in which it was found is added on the way up."""


class Refuted(Exception):
    """A step failed: (step, why)."""


@contextmanager
def step(name):
    try:
        yield
    except Wrong as wrong:
        raise Refuted(name, str(wrong)) from None


def must(condition, why):
    if not condition:
        raise Wrong(why)


def sha(*parts):
    h = hashlib.sha256()
    for part in parts:
        h.update(part)
    return h.digest()


# ---------------------------------------------------------------- text, base64, numbers, times

def utf8(data, what):
    try:
        return data.decode("utf-8") if isinstance(data, bytes) else data.encode("utf-8")
    except UnicodeError:
        raise Wrong(f"{what} is not UTF-8") from None


def b64(text, what):
    """Standard base64 with padding; one value has one spelling."""
    try:
        data = base64.b64decode(text.encode("ascii"), validate=True)
    except (ValueError, AttributeError):
        raise Wrong(f"{what} is not base64") from None
    must(base64.b64encode(data).decode() == text, f"{what} is not strict base64")
    return data


def b64url(text, what):
    """base64url without padding, read as strictly."""
    must(isinstance(text, str) and re.fullmatch(r"[A-Za-z0-9_-]*", text), f"{what} is not base64url")
    must(len(text) % 4 != 1, f"{what} is not base64url")
    data = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
    must(base64.urlsafe_b64encode(data).decode().rstrip("=") == text, f"{what} is not strict base64url")
    return data


def decimal(text, what):
    must(re.fullmatch(r"0|[1-9][0-9]{0,15}", text), f"{what} is no decimal")
    must(int(text) <= MAX_SAFE, f"{what} is too large")
    return int(text)


def integer(value, what):
    """JSON numbers are floats here; this makes an int of a safe, non-negative, whole one."""
    must(type(value) is float and 0 <= value <= MAX_SAFE and value.is_integer(), f"{what} is no integer")
    return int(value)


def time_text(ms):
    """Milliseconds since 1970 as text; None above what has a text. Any year, so no datetime."""
    if ms > 8_640_000_000_000_000:
        return None
    days, rest = divmod(ms, 86_400_000)
    z = days + 719_468                                   # days since 0000-03-01 (proleptic Gregorian)
    era, doe = divmod(z, 146_097)
    yoe = (doe - doe // 1460 + doe // 36_524 - doe // 146_096) // 365
    doy = doe - (365 * yoe + yoe // 4 - yoe // 100)
    mp = (5 * doy + 2) // 153
    day, month = doy - (153 * mp + 2) // 5 + 1, mp + 3 if mp < 10 else mp - 9
    year = yoe + era * 400 + (month <= 2)
    head = f"{year:04d}" if year < 10_000 else f"+{year:06d}"
    s, milli = divmod(rest, 1000)
    return f"{head}-{month:02d}-{day:02d}T{s // 3600:02d}:{s // 60 % 60:02d}:{s % 60:02d}.{milli:03d}Z"


def is_time_text(text):
    m = isinstance(text, str) and re.fullmatch(
        r"([0-9]{4}|\+[0-9]{6})-([0-9]{2})-([0-9]{2})T([0-9]{2}):([0-9]{2}):([0-9]{2})\.([0-9]{3})Z", text)
    if not m:
        return False
    year, month, day, hour, minute, second, milli = (int(part) for part in m.groups())
    y, mm = year - (month <= 2), (month + 9) % 12
    days = y * 365 + y // 4 - y // 100 + y // 400 + (153 * mm + 2) // 5 + day - 1 - 719_468
    ms = ((days * 24 + hour) * 60 + minute) * 60_000 + second * 1000 + milli
    return 0 <= ms and time_text(ms) == text              # also refuses 30 February and hour 24


# ---------------------------------------------------------------- JSON and canonical JSON

def _pairs(pairs):
    members = dict(pairs)
    must(len(members) == len(pairs), "a member is given twice")
    return members


def _number(text):
    value = float(text)
    must(value - value == 0, "a number is no finite double")
    return value


def _constant(text):
    raise Wrong(f"{text} is no JSON")


_decoder = json.JSONDecoder(object_pairs_hook=_pairs, parse_float=_number, parse_int=_number, parse_constant=_constant)


def read_json(data, what):
    """Strict JSON from bytes or text: UTF-8, no member twice, every number a double."""
    must(len(data) <= MAX_JSON, f"{what} is too large")
    text = utf8(data, what) if isinstance(data, bytes) else data
    try:
        return _decoder.decode(text)
    except Wrong as wrong:
        raise Wrong(f"{what}: {wrong}") from None
    except (ValueError, RecursionError):
        raise Wrong(f"{what} is not JSON, or nested too deep") from None


def es_number(value):
    """A double as ECMAScript writes it, from the shortest digits that repr() finds."""
    if value == 0:
        return "0"
    sign, text = ("-", repr(-value)) if value < 0 else ("", repr(value))
    mantissa, _, exponent = text.partition("e")
    whole, _, fraction = mantissa.partition(".")
    point = len(whole) + int(exponent or 0)               # digits before the decimal point
    digits = (whole + fraction)
    point -= len(digits) - len(digits.lstrip("0"))
    digits = digits.strip("0")
    e = point - 1
    if -7 < e < 21:
        if point <= 0:
            return sign + "0." + "0" * -point + digits
        if len(digits) <= point:
            return sign + digits + "0" * (point - len(digits))
        return sign + digits[:point] + "." + digits[point:]
    return sign + digits[0] + ("." + digits[1:] if digits[1:] else "") + "e" + ("+" if e > 0 else "-") + str(abs(e))


_ESCAPES = {'"': '\\"', "\\": "\\\\", "\b": "\\b", "\t": "\\t", "\n": "\\n", "\f": "\\f", "\r": "\\r"}


def es_string(text):
    return '"' + re.sub(r'["\\\x00-\x1f]', lambda m: _ESCAPES.get(m[0]) or f"\\u{ord(m[0]):04x}", text) + '"'


def _write(value, depth):
    if value is None or value is True or value is False:
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, str):
        return es_string(value)
    if isinstance(value, (int, float)):
        return es_number(float(value))
    must(depth < 200, "nested more than 200 deep")
    if isinstance(value, list):
        return "[" + ",".join([_write(item, depth + 1) for item in value]) + "]"
    names = sorted(value, key=lambda name: name.encode("utf-16-be", "surrogatepass"))
    return "{" + ",".join([es_string(name) + ":" + _write(value[name], depth + 1) for name in names]) + "}"


def jcs(value):
    return utf8(_write(value, 0), "half of a surrogate pair")


def same(a, b):
    return jcs(a) == jcs(b)


def read_canonical(data, what, names=None):
    """JSON whose bytes are its own canonical form; an object of exactly these members, if names are given."""
    value = read_json(data, what)
    must(jcs(value) == data, f"{what} is not canonical JSON")
    if names is not None:
        must(isinstance(value, dict) and set(value) == set(names), f"{what} has not the members {' '.join(names)}")
    return value


def lines_of(data, what):
    """The lines of a .jsonl: split at 0x0A alone, each ended by one, none empty."""
    at = 0
    while at < len(data):
        end = data.find(b"\n", at)
        must(end > at, f"{what} has an empty line or does not end with a line feed")
        yield data[at:end]
        at = end + 1


# ---------------------------------------------------------------- keys, notes, proofs, trees

def good_name(name):
    return name and not any(c == "+" or c.isspace() or ord(c) < 32 or 127 <= ord(c) < 160 for c in name)


class Key:
    def __init__(self, vkey):
        must(isinstance(vkey, str), "a vkey is no string")
        parts = vkey.split("+", 2)
        must(len(parts) == 3 and good_name(parts[0]) and re.fullmatch(r"[0-9a-f]{8}", parts[1]), "a vkey is malformed")
        self.text, self.name, self.id = vkey, parts[0], bytes.fromhex(parts[1])
        blob = b64(parts[2], "the key of a vkey")
        must(len(blob) == 33 and blob[0] in (1, 4), "a vkey has no Ed25519 key")
        must(sha(utf8(self.name, "a key name"), b"\n", blob)[:4] == self.id, "the keyId of a vkey is not that of its key")
        self.cosigner, self.public = blob[0] == 4, Ed25519PublicKey.from_public_bytes(blob[1:])

    def holds(self, text, signature):
        if self.cosigner:                                 # a witness: eight bytes of time before the signature
            when = int.from_bytes(signature[:8], "big")
            text, signature = b"cosignature/v1\ntime %d\n" % when + text, signature[8:]
        if len(signature) != 64:
            return False
        try:
            self.public.verify(signature, text)
            return True
        except InvalidSignature:
            return False


class Note:
    """A signed checkpoint."""

    def __init__(self, data):
        must(len(data) <= MAX_NOTE, "the note is too large")
        text = utf8(data, "the note")
        must(not any((c < " " and c != "\n") or "\x7f" <= c < "\xa0" for c in text), "the note has a control character")
        cut = text.rfind("\n\n")
        must(cut > 0 and text.endswith("\n"), "the note has no signatures")
        self.text = utf8(text[:cut + 1], "the note")
        lines = text[cut + 2:-1].split("\n")
        must(1 <= len(lines) <= 100, "the note has not 1 to 100 signatures")
        self.signatures = []
        for line in lines:
            parts = line.split(" ")
            must(len(parts) == 3 and parts[0] == "\u2014" and good_name(parts[1]), "a signature line is malformed")
            blob = b64(parts[2], "a signature")
            must(len(blob) > 4, "a signature is too short")
            self.signatures.append((parts[1], blob[:4], blob[4:]))
        body = text[:cut].split("\n")
        must(len(body) == 3 and body[0], "the checkpoint has not three lines")
        self.origin, self.size = body[0], decimal(body[1], "the size of the checkpoint")
        self.root = b64(body[2], "the root of the checkpoint")
        must(len(self.root) == 32, "the root of the checkpoint has not 32 bytes")

    def signers(self, keys):
        """Those of the keys that signed; a signature that claims one of them must hold."""
        found = []
        for name, key_id, signature in self.signatures:
            for key in keys:
                if key.name == name and key.id == key_id:
                    must(key.holds(self.text, signature), f"the signature of {name} does not hold")
                    found.append(key)
        return found

    def trusted(self, keys):
        return any(key.name == self.origin for key in self.signers(keys))


def node(left, right):
    return sha(b"\x01", left, right)


class Proof:
    """A C2SP tlog-proof."""

    def __init__(self, data):
        must(len(data) <= MAX_NOTE, "the proof is too large")
        head, gap, self.note_bytes = data.partition(b"\n\n")
        must(gap, "the proof has no empty line")
        lines = utf8(head, "the proof").split("\n")
        must(lines.pop(0) == "c2sp.org/tlog-proof@v1", "the proof has another first line")
        self.extra = None
        if lines and lines[0].startswith("extra "):
            self.extra = b64(lines.pop(0)[6:], "extra")
        must(lines and lines[0].startswith("index "), "the proof has no index")
        self.index = decimal(lines.pop(0)[6:], "the index of the proof")
        must(len(lines) <= 53, "the proof has more than 53 hashes")
        self.siblings = [b64(line, "a hash of the proof") for line in lines]
        must(all(len(h) == 32 for h in self.siblings), "a hash of the proof has not 32 bytes")
        self.note = Note(self.note_bytes)

    def check(self, leaf):
        must(self.index < self.note.size, "the index is not below the size")
        left, place, last = list(self.siblings), self.index, self.note.size - 1
        while last > 0:
            if place % 2 or place < last:
                must(left, "the proof has too few hashes")
                sibling = left.pop(0)
                leaf = node(sibling, leaf) if place % 2 else node(leaf, sibling)
            place, last = place // 2, last // 2
        must(not left, "the proof has too many hashes")
        must(leaf == self.note.root, "the hashes do not lead to the root of the checkpoint")

    def check_link(self, record):
        must(self.index % 2 == 0 or self.siblings[0] == record.previous, "the record names another entry before it")


def fold(hashes):
    """The root of a tree of RFC 6962 over these leaf hashes: pairs, level by level; a last one alone goes up as it is."""
    if not hashes:
        return sha(b"")
    while len(hashes) > 1:
        up = [node(hashes[i], hashes[i + 1]) for i in range(0, len(hashes) - 1, 2)]
        hashes = up + hashes[len(hashes) & ~1:]
    return hashes[0]


# ---------------------------------------------------------------- records, geneses, bodies

class Record:
    def __init__(self, data, ledger_id=None):
        must(len(data) == 118 and data[:4] == b"ALR1", "the record has not 118 bytes or another tag")
        kind, flags, self.index, self.time = struct.unpack(">BBQQ", data[4:22])
        must(1 <= kind <= len(KINDS) and flags == 0, "the kind or the flags of the record are unknown")
        must(self.index <= MAX_SAFE and self.time <= MAX_SAFE, "the index or the time of the record is too large")
        self.bytes, self.kind, self.hash = data, KINDS[kind - 1], sha(b"\0", data)
        self.ledger_id, self.previous, self.body_hash = data[22:54], data[54:86], data[86:]
        must(self.index > 0 or self.previous == self.ledger_id, "the first record does not follow its ledgerId")
        must(ledger_id is None or self.ledger_id == ledger_id, "the record is of another ledger")


def hashed_body(body, salt, body_hash):
    """The bytes of a body, if they and the salt have the hash that the record says."""
    must(isinstance(body, str) and isinstance(salt, str) and HEX32.match(salt), "the body or its salt is malformed")
    data = utf8(body, "the body")
    must(sha(b"ALB1", bytes.fromhex(salt), data) == body_hash, "the body has another hash than the record says")
    return data


class Genesis:
    NAMES = ("createdAt", "nonce", "origin", "v", "workspaceId")

    def __init__(self, data):
        g = read_canonical(data, "the genesis")
        must(isinstance(g, dict) and set(g) - {"continues"} == set(self.NAMES), "the genesis has other members")
        must(same(g["v"], 1) and is_time_text(g["createdAt"]), "v or createdAt of the genesis is malformed")
        must(len(b64url(g["nonce"], "the nonce")) == 16, "the nonce has not 16 bytes")
        must(all(isinstance(g[n], str) for n in ("origin", "workspaceId")), "the genesis is malformed")
        self.id, self.origin, self.workspace = sha(b"ALG1", data), g["origin"], g["workspaceId"]
        self.continues = c = g.get("continues")
        if "continues" in g:
            names = {"ledgerId", "lostRoot", "lostSize", "origin", "root", "size"}
            must(isinstance(c, dict) and set(c) == names, "continues has other members")
            self.kept = integer(c["size"], "continues.size")
            hashes = [c["ledgerId"], c["root"]]
            if c["lostSize"] is None:
                must(c["lostRoot"] is None, "lostRoot is there without lostSize")
            else:
                integer(c["lostSize"], "continues.lostSize")
                hashes.append(c["lostRoot"])
            must(all(isinstance(h, str) and HEX64.match(h) for h in hashes), "a hash of continues is malformed")
            self.kept_root = bytes.fromhex(c["root"])


def lineage(geneses):
    """Each genesis, newest first, goes on from the next, the last from none. What sequences count beside index + 1."""
    for new, old in zip(geneses, geneses[1:]):
        must(new.continues is not None, "a genesis does not go on from the one before")
        must(new.continues["ledgerId"] == old.id.hex() and new.continues["origin"] == old.origin,
             "a genesis goes on from another ledger")
        must(new.workspace == old.workspace, "the epochs are of different workspaces")
    must(geneses[-1].continues is None, "the genesis of an earlier epoch is missing")
    return sum(g.kept for g in geneses[:-1])


def read_body(data):
    body = read_canonical(data, "the body")
    must(isinstance(body, dict) and same(body.get("v"), 1), "the body is no object with v 1")
    return body


def names_within(value):
    """Every member name at any depth. Depth is bounded: the value was canonical."""
    if isinstance(value, list):
        for item in value:
            yield from names_within(item)
    elif isinstance(value, dict):
        for name, item in value.items():
            yield name
            yield from names_within(item)


class Opened:
    """A body with those claims opened that have a disclosure."""

    def __init__(self, body, disclosures):
        must(isinstance(disclosures, list) and all(isinstance(d, str) for d in disclosures), "disclosures are no array of strings")
        must(len(set(disclosures)) == len(disclosures), "a disclosure is given twice")
        self.clear, self.places, self.claims = body, {}, {}
        must(body.get("_sd_alg", "sha-256") == "sha-256", "_sd_alg has another value")
        where = {}                                        # digest -> path of the object that lists it
        self.body = self.strip(body, "", where)
        self.body.pop("_sd_alg", None)
        places = self.places
        for text in disclosures:
            data = b64url(text, "a disclosure")
            claim = read_canonical(data, "a disclosure")
            must(isinstance(claim, list) and len(claim) == 3 and isinstance(claim[1], str), "a disclosure is malformed")
            must(len(b64url(claim[0], "the salt of a disclosure")) == 16, "the salt of a disclosure has not 16 bytes")
            _, name, value = claim
            must(name not in RESERVED and RESERVED.isdisjoint(names_within(value)), "a claim has a reserved name")
            digest = base64.urlsafe_b64encode(sha(text.encode())).decode().rstrip("=")
            must(digest in where, "the digest of a disclosure stands nowhere in the body")
            place = where.pop(digest)
            must(name not in places[place], "a claim would replace a member")
            places[place][name] = value
            self.claims[place, name] = value
        self.withheld = set(where.values())               # places where a digest has no disclosure
        for place in ('/"actor"', '/"target"'):
            must(isinstance(self.claims.get((place, "other"), {}), dict), "the claim other is no object")
        must(isinstance(self.claims.get(("", "context"), {}), dict), "the claim context is no object")

    def strip(self, value, path, where):
        """A copy without any _sd, noting the digests. Objects are walked at any depth, but not through arrays."""
        if not isinstance(value, dict):
            must(RESERVED.isdisjoint(names_within(value)), "a reserved name stands within an array")
            return value
        must("..." not in value and "__proto__" not in value, "a reserved name stands in the body")
        must(not path or "_sd_alg" not in value, "_sd_alg stands elsewhere than at the top")
        if "_sd" in value:
            must(isinstance(value["_sd"], list) and value["_sd"], "an _sd is empty or no array")
            for digest in value["_sd"]:
                must(len(b64url(digest, "a digest")) == 32, "a digest has not 43 letters")
                must(digest not in where, "a digest stands twice")
                where[digest] = path
        copy = self.places[path] = {}
        for name, item in value.items():
            if name != "_sd":
                copy[name] = self.strip(item, path + "/" + es_string(name), where)
        return copy

    def party(self, name):
        """The actor or the target, the members of `other` beside the rest."""
        party = self.body.get(name)
        other = self.claims.get((f'/"{name}"', "other"))
        if other is not None:
            party = {**other, **{n: v for n, v in party.items() if n != "other"}}
        return party

    def provenance(self):
        shown = dict(self.claims.get(("", "context"), {}))
        if "keyId" in self.clear:
            shown["keyId"] = self.clear["keyId"]
        return shown


# ---------------------------------------------------------------- a receipt, an entry of a page

FROM_RECORD = {"hash": "eventHash", "previousHash": "previousHash", "timestamp": "timestamp", "sequence": "sequence", "kind": "kind"}
RECEIPT = {"eventHash": "eventHash", "previousHash": "previousHash", "timestamp": "timestamp"}
RECEIPT_BODY = {"eventId": "id", "receipt": "receipt", "lane": "lane", "receivedAt": "receivedAt", "policyVersion": "policyVersion"}
ENTRY_BODY = {n: n for n in ("id", "receipt", "lane", "receivedAt", "policyVersion", "workspaceId", "projectId", "action",
                             "occurredAt", "source", "userVisible", "clockAhead")}


def mask(email):
    at = email.rfind("@")
    return email[:1] + "\u2022\u2022\u2022" + (email[at:] if at >= 0 else "")


MASK = re.compile("[\\s\\S]?\u2022\u2022\u2022(@[^@]*)?\\Z")


class Shown:
    """Compares what an answer shows with the record and the opened body."""

    def __init__(self, record, opened, earlier, loose):
        self.record, self.opened, self.loose, self.seen = record, opened, loose, {}
        self.facts = {"eventHash": record.hash.hex(), "previousHash": record.previous.hex(), "timestamp": time_text(record.time),
                      "sequence": record.index + 1 + earlier, "kind": record.kind}

    def once(self, key, value, what):
        """A mask or an age that both the receipt and the entry show is the same."""
        must(self.seen.setdefault(key, value) == value, f"receipt and entry show two values of {what}")

    def check(self, shown, what, is_receipt):
        must(isinstance(shown, dict), f"{what} is no object")
        facts, members = (RECEIPT, RECEIPT_BODY) if is_receipt else (FROM_RECORD, ENTRY_BODY)
        for name, value in shown.items():
            label = f"{what}.{name}"
            if name in facts:
                must(self.facts[facts[name]] is not None and same(value, self.facts[facts[name]]), f"{label} is not the record's")
            elif name in members or name in ("actor", "target", "provenance") or (name == "metadata" and not is_receipt):
                if self.opened is None:
                    self.loose.append(label)              # the body is gone: nothing to compare with
                elif name in members:
                    body = self.opened.body
                    must(members[name] in body and same(value, body[members[name]]), f"{label} is not the body's")
                elif name == "provenance":
                    must(self.opened.provenance(), f"{label} is not in the body")
                    self.subset(value, self.opened.provenance(), {}, label)
                elif name == "metadata":
                    self.subset(value, self.opened.body.get("metadata", {}), self.opened.clear.get("metadata", {}), label)
                else:
                    self.party(value, name, label)
            elif name == ("storageClass" if is_receipt else "storageTier"):
                must(value in ("hot", "archive"), f"{label} is neither hot nor archive")
                self.once("age", value, "the age")
                self.loose.append(label)
            elif is_receipt and name == "accepted":
                must(value is True, f"{label} is not true")
            elif is_receipt and name == "queued":
                must(isinstance(value, bool), f"{label} is neither true nor false")
                self.loose.append(label)
            elif is_receipt and name == "verificationUrl":
                self.address(value, label)
            elif not (name == "integrity" and not is_receipt):   # integrity is step 10
                self.loose.append(label)

    def subset(self, shown, expected, clear, label):
        """What is shown is as expected, and what stands in clear in the body is there."""
        must(isinstance(shown, dict) and isinstance(expected, dict), f"{label} is no object")
        for name, value in shown.items():
            must(name in expected and same(value, expected[name]), f"{label}.{name} is not the body's")
        must(all(name in shown for name in clear if name != "_sd"), f"{label} lacks a member that stands in clear")

    def party(self, shown, name, label):
        must(isinstance(shown, dict) and isinstance(self.opened.body.get(name), dict), f"{label} is not the body's")
        expected, rest = self.opened.party(name), dict(shown)
        email, known, place = shown.get("email"), expected.get("email"), f'/"{name}"'
        if isinstance(email, str) and not ("email" in expected and same(email, known)):
            if "email" in expected:
                must((place, "email") in self.opened.claims and isinstance(known, str) and email == mask(known),
                     f"{label}.email is neither the e-mail nor its mask")
            else:
                must(place in self.opened.withheld and MASK.match(email), f"{label}.email is not the body's")
                self.loose.append(f"{label}.email (the mask of a withheld e-mail)")
            self.once(name, email, f"the mask of {name}.email")
            del rest["email"]
        self.subset(rest, expected, self.opened.clear.get(name, {}), label)

    def address(self, value, label):
        m = isinstance(value, str) and re.match(r"https?://[^\s/?#\\@\x00-\x20\x7f]+(/[^\s?#\\\x00-\x20\x7f]*)?/v1/workspaces/", value)
        must(m, f"{label} is no such http or https address")
        if self.opened is not None:
            body = self.opened.body
            must(value.endswith(f"/v1/workspaces/{body.get('workspaceId')}/receipts/{body.get('receipt')}"),
                 f"{label} does not end with this receipt")
        self.loose.append(f"{label} (its host)" if self.opened else label)


class Checked:
    """What a receipt or an entry turned out to be: why it is unconfirmed (None if genuine), its ledger, its sequence."""

    def __init__(self, why, record=None, facts=None, geneses=()):
        self.why, self.record, self.geneses = why, record, geneses
        self.sequence = facts["sequence"] if facts else None


def verify_receipt(answer, trusted, loose, now=(), shows_verified=True):
    """One answer {receipt, entry, verified, proof, disclosures}. `now`: the geneses of the ledger as it is, newest first."""
    with step("record"):
        must(isinstance(answer, dict), "the answer is no object")
        proof = answer.get("proof")
        if proof is None:
            loose.extend(sorted(answer))
            return Checked("it has no proof")
        must(isinstance(proof, dict), "proof is no object")
        record = Record(b64(proof.get("record"), "record"))
    with step("content"):
        body, salt, opened = proof.get("body"), proof.get("bodySalt"), None
        disclosures = answer.get("disclosures", [])
        if body is None and salt is None:
            must(disclosures in ([], None), "there are disclosures without a body")
        else:
            data = hashed_body(body, salt, record.body_hash)
    if body is not None:
        with step("canonical"):
            parsed = read_body(data)
        with step("disclosures"):
            opened = Opened(parsed, disclosures)
    with step("epochs"):
        earlier, geneses = 0, []
        if "geneses" in proof:
            texts = proof["geneses"]
            must(isinstance(texts, list) and texts and all(isinstance(t, str) for t in texts), "geneses is no array of texts")
            geneses = [Genesis(utf8(t, "a genesis")) for t in texts]
            must(geneses[0].id == record.ledger_id, "the record is not of the first of the geneses")
            earlier = lineage(geneses)
        born = geneses[0] if geneses else next((g for g in now if g.id == record.ledger_id), None)
        must(not born or not opened or opened.clear.get("workspaceId") == born.workspace, "the genesis is of another workspace than the body")
    with step("receipt"):
        shown = Shown(record, opened, earlier, loose)
        if "receipt" in answer:
            shown.check(answer["receipt"], "receipt", True)
        if "entry" in answer:
            shown.check(answer["entry"], "entry", False)
        named = {"receipt", "entry", "proof", "disclosures"} | ({"verified"} if shows_verified else set())
        loose.extend(sorted(set(answer) - named))
        loose.extend("proof." + n for n in sorted(set(proof) - {"record", "body", "bodySalt", "vkey", "tlogProof", "geneses"}))
    with step("kept"):
        for new, old in zip(now, now[1:]):
            must(old.id != record.ledger_id or record.index < new.kept, "the entry is lost: the workspace has gone on without it")
    entry = answer.get("entry", {})
    found = ["entry.integrity"] * ("integrity" in entry) + ["verified"] * (shows_verified and "verified" in answer)
    with step("checkpoint"):
        text = proof.get("tlogProof")
        own = [Key(proof["vkey"])] if "vkey" in proof else []
        if text is None:
            loose.extend(found)
            return Checked("no checkpoint covers it yet", record, shown.facts, geneses)
        must(isinstance(text, str), "tlogProof is no string")
        inclusion = Proof(utf8(text, "tlogProof"))
        must(inclusion.extra in (None, record.bytes) and inclusion.index == record.index, "the proof is of another record")
        signers = inclusion.note.signers(own + trusted)
        must(signers, "neither the key that is named nor a trusted one has signed the checkpoint")
        must(any(key.name == inclusion.note.origin for key in signers), "the key has another name than the log")
        must(not born or inclusion.note.origin == born.origin, "the genesis is of another log than the checkpoint")
        if own and own[0].text not in [key.text for key in signers]:
            loose.append("proof.vkey")
    with step("inclusion"):
        inclusion.check(record.hash)
    with step("link"):
        inclusion.check_link(record)
    with step("integrity"):
        if body is not None:
            erased = entry.get("integrity") == "erased" and bool(opened.withheld)   # nothing proves which
            must(erased or entry.get("integrity", "verified") == "verified", "entry.integrity is not verified")
            must(not shows_verified or answer.get("verified", True) is True, "verified is not true")
    if body is None:
        loose.extend(found)
        return Checked("its body is gone", record, shown.facts, geneses)
    if not inclusion.note.trusted(trusted):
        loose.extend(found)
        return Checked("no trusted key has signed", record, shown.facts, geneses)
    loose.extend(["entry.integrity"] * erased)
    return Checked(None, record, shown.facts, geneses)


EARLIER = "only entries of earlier epochs are unconfirmed: "


def verify_page(page, trusted, loose, now=()):
    """Every entry of a page by itself; then what the page says of them."""
    with step("page"):
        must(isinstance(page, dict) and isinstance(page.get("events"), list), "the page has no events")
        events = page["events"]
        must(len(events) <= MAX_EVENTS, "the page has too many events")
    results, broken = [], False
    for at, event in enumerate(events):
        try:
            with step("record"):
                must(isinstance(event, dict), "an entry is no object")
            answer = {n: event[n] for n in ("proof", "disclosures") if n in event}
            answer["entry"] = {n: v for n, v in event.items() if n not in answer}
            found = []
            results.append(verify_receipt(answer, trusted, found, now, shows_verified=False))
        except Refuted as refuted:
            raise Refuted(refuted.args[0], f"events[{at}]: {refuted.args[1]}") from None
        loose.extend(f"events[{at}]" + (f[5:] if f.startswith("entry") else "." + f) for f in found)
        broken = broken or answer["entry"].get("integrity") == "broken"
    lowest = {}                                           # of each ledger the index, and of all the sequence shown
    for at, (event, result) in enumerate(zip(events, results)):
        if result.record:
            for of, place in ((result.record.ledger_id, result.record.index), ("sequence", event.get("sequence"))):
                with step("page"):
                    must(place is None or of not in lowest or place < lowest[of], f"events[{at}] is not older than those before it")
                if place is not None:
                    lowest[of] = place
    last = results[-1].sequence if results else 0         # None if the last one has no proof: nothing to compare with
    with step("page"):
        if "returned" in page:
            must(same(page["returned"], len(events)), "returned is not the number of events")
        if "nextCursor" in page and last is not None:
            must(same(page["nextCursor"], last), "nextCursor is not the sequence of the last event")
        if "verified" in page:
            must(isinstance(page["verified"], bool) and page["verified"] is not broken, "verified is not what the events show")
    open_ones = [f"events[{at}]: {result.why}" for at, result in enumerate(results) if result.why]
    covered = {"events", "returned"} | ({"nextCursor"} if last is not None else set()) | (set() if open_ones else {"verified"})
    loose.extend(sorted(set(page) - covered))
    if not events:
        return "there are no events to check"
    # Which ledgers are earlier epochs of one that is confirmed here: the genuine entries' own geneses tell.
    former = {old.id for result in results if not result.why for old in result.geneses[1:]}
    newest = [f"events[{at}]: {result.why}" for at, result in enumerate(results)
              if result.why and not (result.record and result.record.ledger_id in former)]
    return (newest or [EARLIER + why for why in open_ones] or [None])[0]


def verify_proof(data, trusted, loose):
    with step("form"):
        proof = Proof(data)
        must(proof.extra is not None, "the proof has no record")
        record = Record(proof.extra)
    with step("key"):
        signers = proof.note.signers(trusted)
        must(not signers or proof.note.trusted(trusted), "the trusted key has another name than the log")
    with step("inclusion"):
        must(proof.index == record.index, "index is not the record's")
        proof.check(record.hash)
    with step("link"):
        proof.check_link(record)
    return None if signers else "no trusted key has signed"


# ---------------------------------------------------------------- a pack

def zip_files(data):
    """The files of a ZIP of the one form that packs have: {name: content}. Every byte is accounted for."""
    files, directory, at, view = {}, [], 0, memoryview(data)
    before = b""
    while data[at:at + 4] == b"PK\3\4":
        must(len(data) - at >= 30, "the archive is cut")
        crc, size, _, name_length = struct.unpack_from("<IIIH", data, at + 14)
        name = data[at + 30:at + 30 + name_length]
        start = at + 30 + name_length
        must(1 <= name_length <= 255 and start + size <= len(data), "the archive is cut")
        must(re.fullmatch(rb"[A-Za-z0-9_-][A-Za-z0-9_.-]*(/[A-Za-z0-9_-][A-Za-z0-9_.-]*)*", name), "a name of the archive is malformed")
        must(name > before, "the names of the archive are not in order")
        common = struct.pack("<HHHHHIIIHH", 10, 0, 0, 0, 0x21, zlib.crc32(view[start:start + size]), size, size, name_length, 0)
        must(data[at:at + 30] == b"PK\3\4" + common, f"the header of {name.decode()} is not of the form")
        directory.append(b"PK\1\2" + struct.pack("<H", 10) + common + struct.pack("<HHHII", 0, 0, 0, 0, at) + name)
        files[name.decode()], before = data[start:start + size], name
        must(len(files) <= 65_534, "the archive has too many files")
        at = start + size
    tail = b"".join(directory)
    end = b"PK\5\6" + struct.pack("<HHHHIIH", 0, 0, len(files), len(files), len(tail), at, 0)
    must(data[at:] == tail + end, "the directory of the archive is not of the form")
    return files


PACK_PATHS = re.compile(r"(?:manifest\.json|genesis\.json|log\.vkey|policy\.txt|checkpoint|receipts\.jsonl|entries\.csv|README\.txt|verify\.html|seal\.json"
                        r"|seal\.tlog-proof|epochs/[1-9][0-9]*/genesis\.json|proofs/[A-Za-z0-9_]+\.tlog-proof|(?:bodies|disclosures)/[0-9]{3}\.jsonl"
                        r"|policies/[A-Za-z0-9][A-Za-z0-9._-]{0,63}/[1-9][0-9]*\.json)\Z")
PACK_NEEDS = ("manifest.json genesis.json log.vkey policy.txt checkpoint receipts.jsonl entries.csv README.txt seal.json seal.tlog-proof "
              "bodies/000.jsonl").split()


def signed_checkpoint(log_vkey, policy, note_bytes, genesis, trusted):
    """Step `checkpoint` of packs and exports: the note and the key of log.vkey."""
    vkey = utf8(log_vkey, "log.vkey")
    must(vkey.endswith("\n"), "log.vkey does not end with a line feed")
    key = Key(vkey[:-1])
    must(policy is None or policy == f"log {vkey[:-1]}\nquorum none\n".encode(), "policy.txt is not that of log.vkey")
    must(key.name == genesis.origin, "the key has another name than the log")
    if note_bytes is None:
        return key, None
    note = Note(note_bytes)
    must(key in note.signers([key] + trusted), "the key of log.vkey has not signed the checkpoint")
    must(note.origin == genesis.origin, "the checkpoint is of another log")
    return key, note


def body_line(line):
    members = read_canonical(line, "a body line", ("body", "index", "salt"))
    return integer(members["index"], "the index of a body line"), members["body"], members["salt"]


def disclosure_line(line):
    members = read_canonical(line, "a disclosure line", ("d", "index"))
    must(isinstance(members["d"], list) and members["d"], "a disclosure line has no disclosures")
    return integer(members["index"], "the index of a disclosure line"), members["d"]


def without_sd(value):
    return {n: v for n, v in value.items() if n != "_sd"} if isinstance(value, dict) else value


def receipt_line(record, body):
    line = {"accepted": True, "eventHash": record.hash.hex(), "previousHash": record.previous.hex(), "timestamp": time_text(record.time)}
    for name, source in (("actor", "actor"), ("target", "target"), ("eventId", "id"), ("lane", "lane"), ("policyVersion", "policyVersion"),
                         ("receipt", "receipt"), ("receivedAt", "receivedAt")):
        if source in body:
            line[name] = without_sd(body[source]) if name in ("actor", "target") else body[source]
    if "keyId" in body:
        line["provenance"] = {"keyId": body["keyId"]}
    return jcs(line) + b"\n"


CSV_COLUMNS = ("sequence timestamp occurredAt kind projectId action lane source actor.id actor.type target.id target.type target.name "
               "userVisible policyVersion metadata receivedAt eventId receipt eventHash previousHash").split()
ABSENT = object()


def cell(value, form):
    text = "" if value is ABSENT else value if isinstance(value, str) else _write(value, 0)
    if text[:1] and text[0] in "=+-@\t\r\n\uff1d\uff0b\uff0d\uff20" + ("'" if form == 2 else ""):
        text = "'" + text
    return '"' + text.replace('"', '""') + '"'


def csv_line(record, body, earlier, form):
    facts = {"sequence": record.index + 1 + earlier, "timestamp": time_text(record.time), "kind": record.kind,
             "eventHash": record.hash.hex(), "previousHash": record.previous.hex(), "eventId": body.get("id", ABSENT)}
    cells = []
    for column in CSV_COLUMNS:
        outer, _, inner = column.partition(".")
        if column in facts:
            value = facts[column]
        elif inner:
            party = body.get(outer)
            value = party.get(inner, ABSENT) if isinstance(party, dict) else ABSENT
        else:
            value = without_sd(body.get(column, ABSENT))
        cells.append(cell(value, form))
    return utf8(",".join(cells) + "\r\n", "a row")


def verify_pack(data, trusted, loose):
    with step("archive"):
        files = zip_files(data)
    with step("manifest"):
        for name in files:
            must(PACK_PATHS.match(name), f"{name} is no file of a pack")
        must(all(name in files for name in PACK_NEEDS), "a file of the pack is missing")
        proofs = {name[7:-11]: name for name in files if name.startswith("proofs/")}
        must(proofs, "the pack has no entries")
        manifest = read_canonical(files["manifest.json"], "manifest.json")
        must(isinstance(manifest, dict), "manifest.json is no object")
        unlisted = {"manifest.json", "seal.json", "seal.tlog-proof"} | {n for n in files if n.startswith("disclosures/")}
        must(set(manifest) == set(files) - unlisted, "the manifest lists other files than there are")
        for name, digest in manifest.items():
            must(sha(files[name]).hex() == digest, f"{name} has another hash than the manifest says")
    with step("genesis"):
        count = sum(n.startswith("epochs/") for n in files)
        must(all(f"epochs/{n}/genesis.json" in files for n in range(1, count + 1)), "the genesis of an epoch is missing")
        geneses = [Genesis(files["genesis.json"])] + [Genesis(files[f"epochs/{n}/genesis.json"]) for n in range(count, 0, -1)]
        earlier, genesis = lineage(geneses), geneses[0]
    with step("checkpoint"):
        key, note = signed_checkpoint(files["log.vkey"], files["policy.txt"], files["checkpoint"], genesis, trusted)
    with step("seal"):
        at, body, salt = body_line(files["seal.json"])
        proof = Proof(files["seal.tlog-proof"])
        must(proof.extra is not None, "seal.tlog-proof has no record")
        record = Record(proof.extra, genesis.id)
        must(record.kind == "admin" and record.index == proof.index == at, "the seal is of another entry")
        must(at >= note.size, "the seal is older than the checkpoint")
        proof.check(record.hash)
        must(proof.note.origin == genesis.origin, "the checkpoint of the seal is of another log")
        proof.note.signers([key] + trusted)
        seal_note, body = proof.note, read_body(hashed_body(body, salt, record.body_hash))
        Opened(body, [])                                  # no disclosures of it are given, yet its form must be right
        must(body.get("workspaceId") == genesis.workspace, "the seal is of another workspace")
        must(body.get("action") == "evidence.pack.create" and isinstance(body.get("metadata"), dict), "the seal is of another act")
        said = body["metadata"]
        must(said.get("packHash") == sha(files["manifest.json"]).hex(), "the seal is of another pack")
        must(same(said.get("receiptCount"), len(proofs)), "the seal counts other receipts")
        must("form" not in said or same(said["form"], 2), "the form of the pack is unknown")
        form = 2 if "form" in said else 1
    with step("records"):
        entries = {}
        for receipt, name in proofs.items():
            proof = Proof(files[name])
            must(proof.extra is not None, f"{name} has no record")
            record = Record(proof.extra, genesis.id)
            must(record.index == proof.index, f"{name} has another index than its record")
            must(record.index not in entries, "two proofs have one index")
            entries[record.index] = (record, proof, receipt)
        order = [entries[index] for index in sorted(entries)]
        for (one, _, _), (two, _, _) in zip(order, order[1:]):
            must(one.time <= two.time, "the time goes back")
            must(two.index != one.index + 1 or two.previous == one.hash, "an entry does not follow the one before")
    with step("inclusion"):
        for record, proof, receipt in order:
            must(proof.note_bytes == files["checkpoint"], f"the proof of {receipt} has another checkpoint")
            proof.check(record.hash)
    with step("content"):
        names = [f"bodies/{n:03d}.jsonl" for n in range((len(order) + 255) // 256)]
        must(names == sorted(n for n in files if n.startswith("bodies/")), "bodies has other files")
        bodies = []
        for n, name in enumerate(names):
            here, count = order[n * 256:n * 256 + 256], 0
            for line in lines_of(files[name], name):
                must(count < len(here), f"{name} has too many lines")
                record, _, receipt = here[count]
                at, body, salt = body_line(line)
                must(at == record.index, f"{name} is not in order")
                body = read_body(hashed_body(body, salt, record.body_hash))
                must(body.get("workspaceId") == genesis.workspace, "a body is of another workspace")
                must(body.get("receipt") == receipt, "a body has another receipt than its proof")
                bodies.append(body)
                count += 1
            must(count == len(here), f"{name} has too few lines")
    with step("disclosures"):
        given = {}
        for name in (n for n in files if n.startswith("disclosures/")):
            n, before = int(name[12:15]), -1
            here = {record.index for record, _, _ in order[n * 256:n * 256 + 256]}
            must(files[name], f"{name} is empty")
            for line in lines_of(files[name], name):
                at, disclosures = disclosure_line(line)
                must(at in here and at > before, f"{name} has a line of another entry, or is not in order")
                given[at], before = disclosures, at
        for (record, _, _), body in zip(order, bodies):
            Opened(body, given.get(record.index, []))
    with step("receipts"):
        must(all(time_text(record.time) for record, _, _ in order), "a time has no text")
        must(b"".join(receipt_line(e[0], b) for e, b in zip(order, bodies)) == files["receipts.jsonl"], "receipts.jsonl is not what the records say")
    with step("table"):
        head = (",".join(cell(c, form) for c in CSV_COLUMNS) + "\r\n").encode()
        rows = [csv_line(e[0], b, earlier, form) for e, b in zip(order, bodies)]
        must(head + b"".join(rows) == files["entries.csv"], "entries.csv is not what the records say")
    with step("policies"):
        for name in (n for n in files if n.startswith("policies/")):
            policy = read_canonical(files[name], name, ("id", "projectId", "publishedAt", "sectionHash", "sections", "version"))
            version = integer(policy["version"], "the version of a policy")
            must(isinstance(policy["projectId"], str) and name == f"policies/{policy['projectId']}/{version}.json", f"{name} lies at another path")
            must(policy["sectionHash"] == sha(jcs(policy["sections"])).hex(), f"{name} has another sectionHash")
    with step("key"):
        if not note.trusted(trusted):
            return "no trusted key has signed the checkpoint"
        return None if seal_note.trusted(trusted) else "no trusted key has signed the checkpoint of the seal"


# ---------------------------------------------------------------- an export

def read_file(path, cap, nofollow=False):
    """A plain file of at most `cap` bytes. Opened without blocking, so that no pipe holds us up."""
    flags = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | (os.O_NOFOLLOW if nofollow else 0)
    try:
        with open(os.open(path, flags), "rb") as file:
            must(stat.S_ISREG(os.fstat(file.fileno()).st_mode), "it is no plain file")
            data = file.read(cap + 1)
    except (OSError, ValueError) as error:
        raise Wrong(f"it cannot be read: {error}") from None
    must(len(data) <= cap, "it is too large")
    return data


class Folder:
    """The plain files below a folder. Links, devices, pipes and sockets are refused before anything is read."""

    def __init__(self, root):
        self.root, self.paths, stack = root, set(), [""]
        self.used = set()
        must(os.path.isdir(root), "there is no such folder")
        while stack:
            under = stack.pop()
            must(under.count("/") < 12, "folders are nested too deep")
            for entry in os.scandir(os.path.join(root, under)):
                mode = entry.stat(follow_symlinks=False).st_mode
                must(stat.S_ISREG(mode) or stat.S_ISDIR(mode), f"{under}{entry.name} is no plain file")
                if stat.S_ISDIR(mode):
                    stack.append(f"{under}{entry.name}/")
                else:
                    self.paths.add(under + entry.name)
                must(len(self.paths) + len(stack) <= MAX_FILES, "there are too many files")

    def read(self, path, cap=MAX_NOTE, optional=False):
        if path not in self.paths:
            must(optional, f"{path} is missing")
            return None
        self.used.add(path)
        try:
            return read_file(os.path.join(self.root, path), cap, nofollow=True)
        except Wrong as wrong:
            raise Wrong(f"{path}: {wrong}") from None


def tile_path(kind, n, width):
    text = f"{n % 1000:03d}"
    while n >= 1000:
        n //= 1000
        text = f"x{n % 1000:03d}/{text}"
    return f"tile/{kind}/{text}" + (f".p/{width}" if width < 256 else "")


def tiles_of(count):
    """(number, width) of the tiles or bundles for so many hashes or records."""
    return [(n, min(256, count - n * 256)) for n in range((count + 255) // 256)]


def verify_epoch(folder, base, genesis, successor, trusted):
    """Steps 2 to 7 of one epoch; successor is the genesis of the next one, or None. Returns its note."""
    with step("checkpoint"):
        vkey, policy, note_bytes = (folder.read(base + n, optional=successor is not None or n == "policy.txt")
                                    for n in ("log.vkey", "policy.txt", "checkpoint"))
        note = None
        if vkey is not None:
            _, note = signed_checkpoint(vkey, policy, note_bytes, genesis, trusted)
        else:
            must(note_bytes is None and policy is None, "log.vkey is missing")
        must(successor is not None or note.size > 0, "no entry binds the newest genesis")
        size = note.size if successor is None else successor.kept
        must(note is None or note.size <= size, "the checkpoint covers more than was kept")
    with step("records"):
        hashes, body_hashes, time, allowed = [], bytearray(), 0, set()
        sizes = sorted({size} | ({note.size} if note else set()))
        for n, width in tiles_of(size):
            path = tile_path("entries", n, width)
            data = folder.read(base + path)
            allowed.add(path)
            must(len(data) == 120 * width, f"{path} has another length")
            for at in range(0, len(data), 120):
                must(data[at:at + 2] == b"\0\x76", f"{path} has an entry of another length")
                record = Record(data[at + 2:at + 120], genesis.id)
                must(record.index == len(hashes), f"{path} has a record of another place")
                must(record.previous == (hashes[-1] if hashes else genesis.id), "a record does not follow the one before")
                must(record.time >= time, "the time goes back")
                time = record.time
                hashes.append(record.hash)
                body_hashes += record.body_hash
        if len(sizes) == 2 and sizes[0] % 256:             # the edge of the smaller, signed tree
            n, width = tiles_of(sizes[0])[-1]
            path, whole = tile_path("entries", n, width), tile_path("entries", *tiles_of(size)[n])
            allowed.add(path)
            must(folder.read(base + path) == folder.read(base + whole)[:120 * width], f"{path} is not the beginning of the later one")
    with step("tiles"):
        for count_all in sizes:
            level, row = 0, hashes[:count_all]
            while row:
                for n, width in tiles_of(len(row)):
                    path = tile_path(level, n, width)
                    allowed.add(path)
                    must(folder.read(base + path) == b"".join(row[n * 256:n * 256 + width]), f"{path} has other hashes")
                row = [fold(row[n * 256:n * 256 + 256]) for n in range(len(row) // 256)]
                level += 1
        for path in folder.paths:
            if path.startswith(base + "tile/"):
                must(path[len(base):] in allowed, f"{path} is no tile of this tree")
    with step("content"):
        known = {}
        for path, n in numbered(folder, base + "bodies/"):
            found = set()
            for line in lines_of(folder.read(path, MAX_PACK), path):
                at, body, salt = body_line(line)
                if at >= size:
                    continue                              # left by an export that was interrupted
                must(at // 256 == n and at not in found, f"{path} has a line twice, or one of another file")
                found.add(at)
                parsed = read_body(hashed_body(body, salt, body_hashes[at * 32:at * 32 + 32]))
                must(parsed.get("workspaceId") == genesis.workspace, "a body is of another workspace")
                Opened(parsed, [])
            known[n] = found
    with step("disclosures"):
        for path, n in numbered(folder, base + "disclosures/"):
            given = {}
            for line in lines_of(folder.read(path, MAX_PACK), path):
                at, disclosures = disclosure_line(line)
                if at >= size:
                    continue
                must(at // 256 == n and at not in given, f"{path} has a line twice, or one of another file")
                must(at in known.get(n, ()), f"{path} has disclosures without a body")
                given[at] = disclosures
            if given:                                     # read the bodies of this file again: not all are kept in memory
                name = f"{base}bodies/{n:03d}.jsonl"
                for line in lines_of(folder.read(name, MAX_PACK), name):
                    at, body, _ = body_line(line)
                    if at in given:
                        Opened(read_body(utf8(body, "the body")), given[at])
    with step("root"):
        if note:
            must(fold(hashes[:note.size]) == note.root, "the tree has another root than the checkpoint")
        if successor is not None:
            must(fold(hashes) == successor.kept_root, "the tree has another root than the next epoch goes on from")
    return note


def numbered(folder, under):
    """The .jsonl files of a folder with their numbers: three digits, or more without leading zeros."""
    for path in sorted(folder.paths):
        if path.startswith(under):
            m = re.fullmatch(r"([0-9]{3}|[1-9][0-9]{3,12})\.jsonl", path[len(under):])
            if m:
                yield path, int(m[1])


def verify_export(path, trusted, loose):
    with step("files"):
        folder = Folder(path)
    with step("genesis"):
        newest = Genesis(folder.read("genesis.json"))
    with step("epochs"):
        older = []
        while f"epochs/{len(older) + 1}/genesis.json" in folder.paths:
            older.append(Genesis(folder.read(f"epochs/{len(older) + 1}/genesis.json")))
        chain = older + [newest]
        lineage(chain[::-1])
    for n, genesis in enumerate(chain):
        last = genesis is newest
        try:
            note = verify_epoch(folder, "" if last else f"epochs/{n + 1}/", genesis, None if last else chain[n + 1], trusted)
        except Refuted as refuted:
            raise refuted if last else Refuted(refuted.args[0], f"epoch {n + 1}: {refuted.args[1]}") from None
    unread = sorted(folder.paths - folder.used)
    with step("files"):
        for name in unread:
            for base in [""] + [f"epochs/{n + 1}/" for n in range(len(older))]:
                inner = name[len(base):] if name.startswith(base) else ""
                if inner.startswith(("bodies/", "disclosures/")):
                    must(re.fullmatch(r"(bodies|disclosures)/([0-9]{3}|[1-9][0-9]{3,12})\.jsonl(\.new)?", inner), f"{name} has no place in an export")
            epoch = re.match(r"epochs/([0-9]+)/", name)
            must(not epoch or 1 <= int(epoch[1]) <= len(older), f"{name} is of an epoch without a genesis")
    loose.extend(f"the file {name}" for name in unread)
    with step("key"):
        return None if note.trusted(trusted) else "no trusted key has signed the checkpoint"


# ---------------------------------------------------------------- the command line

def geneses_of(path):
    """The geneses of an export, newest first: the ledger as it is now."""
    with step("kept"):
        folder, geneses = Folder(path), []
        while f"epochs/{len(geneses) + 1}/genesis.json" in folder.paths:
            geneses.append(Genesis(folder.read(f"epochs/{len(geneses) + 1}/genesis.json")))
        geneses = [Genesis(folder.read("genesis.json"))] + geneses[::-1]
        lineage(geneses)
        return geneses


def verify(kind, path, trusted, now=None):
    """(verdict, why, what no hash covers). Whatever is malformed is refuted."""
    loose = []
    try:
        if kind == "export":
            why = verify_export(path, trusted, loose)
        else:
            with step("file"):
                data = read_file(path, {"pack": MAX_PACK, "proof": MAX_NOTE}.get(kind, MAX_JSON))
                value = read_json(data, "the answer") if kind in ("receipt", "page") else data
            geneses = geneses_of(now) if now else ()
            if kind == "receipt":
                why = verify_receipt(value, trusted, loose, geneses).why
            elif kind == "page":
                why = verify_page(value, trusted, loose, geneses)
            else:
                why = (verify_proof if kind == "proof" else verify_pack)(value, trusted, loose)
        return ("unconfirmed" if why else "genuine"), why, loose
    except Refuted as refuted:
        return "refuted", f"{refuted.args[0]}: {refuted.args[1]}", []
    except Wrong as wrong:
        return "refuted", f"form: {wrong}", []
    except Exception as error:                            # a form that no check above foresaw is refuted as well
        return "refuted", f"form: cannot be read ({type(error).__name__}: {error})", []


def printable(text):
    text = text.encode("ascii", "backslashreplace").decode()
    return re.sub(r"[\x00-\x1f\x7f]", lambda m: f"\\x{ord(m[0]):02x}", text)[:500]


def verify_altered(path):
    """Every item of a list: refuted, whichever of its keys is trusted."""
    with open(path, encoding="utf-8") as file:
        items = json.load(file)
    wrong = 0
    for item in items:
        verdict, why, loose = verify(item["kind"], os.path.join(os.path.dirname(os.path.abspath(path)), item["path"]), [Key(k) for k in item["keys"]])
        if verdict != "refuted":
            wrong += 1
            print(printable(f"{item['kind']} {item['path']} was altered, and is {verdict}: {why}"))
    print(f"{len(items)} altered items, {wrong} not refuted")
    return 1 if wrong or not items else 0


def verify_list(path):
    """Every item of a list: genuine with each of its keys alone, unconfirmed with a key of nobody."""
    with open(path, encoding="utf-8") as file:
        items = json.load(file)
    checks = wrong = earlier = 0
    for item in items:
        target = os.path.join(os.path.dirname(os.path.abspath(path)), item["path"])
        keys = [Key(k) for k in item["keys"]]
        blob = b"\1" + sha(b"nobody")
        name = keys[0].name
        stranger = Key(f"{name}+{sha(name.encode(), b'%c' % 10, blob)[:4].hex()}+{base64.b64encode(blob).decode()}")
        for key, wanted in [(k, "genuine") for k in keys] + [(stranger, "unconfirmed")]:
            verdict, why, _ = verify(item["kind"], target, [key])
            checks += 1
            if wanted == "genuine" and item["kind"] == "page" and why and why.startswith(EARLIER):
                earlier += 1                              # a key of the newest epoch alone cannot confirm those of earlier ones
                continue
            if verdict != wanted:
                wrong += 1
                print(printable(f"{item['kind']} {item['path']} with {key.text}: {verdict}: {why}, but {wanted} was expected"))
    print(f"{len(items)} items, {checks} checks, {wrong} wrong, {earlier} pages genuine but for entries of earlier epochs")
    return 1 if wrong or not items else 0


def main(arguments):
    if len(arguments) == 2 and arguments[0] == "--list":
        return verify_list(arguments[1])
    if len(arguments) == 2 and arguments[0] == "--altered":
        return verify_altered(arguments[1])
    if len(arguments) < 2 or arguments[0] not in ("receipt", "page", "proof", "pack", "export") or len(arguments) % 2 \
            or any(a not in ("--key", "--now") for a in arguments[2::2]):
        print(__doc__, file=sys.stderr)
        return 3
    try:
        options = list(zip(arguments[2::2], arguments[3::2]))
        trusted = [Key(value) for name, value in options if name == "--key"]
    except Wrong as wrong:
        print(f"--key: {wrong}", file=sys.stderr)
        return 3
    now = ([value for name, value in options if name == "--now"] or [None])[-1]
    verdict, why, loose = verify(arguments[0], arguments[1], trusted, now)
    print(printable(f"{verdict}: {why}" if why else verdict))
    for line in loose[:1000]:
        print(printable(f"no hash covers {line}"))
    if len(loose) > 1000:
        print(f"no hash covers {len(loose) - 1000} others")
    return {"genuine": 0, "unconfirmed": 2, "refuted": 1}[verdict]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
