import json
import os
import re
import urllib.parse

POSTED = "/app/posted.json"
CALLS = "/logs/doubles.jsonl"
ROUTE = "/api/chat.postMessage"
FIELDS = {"channel", "text"}

# id: a phrase that only this update has, channel, thread, shown in the channel, text
EXPECTED = {
    "u1": ("old gateway", "C07INC4Q1", "1763971200.000100", False,
           "<@U05JLN7A2> no, refunds run on the *old gateway* and are not affected."),
    "u2": ("16:30", "C07PAY8Z2", "1763972000.000300", False,
           "<@U05TBR3C8> please hold the file back until *16:30*, see "
           "<https://wiki.example.org/runbook?page=settlement&lang=en|the runbook>. <@U04LMO6D1> informs the bank."),
    "u3": ("absences", "C07GEN2K3", None, False,
           "*On-call plan:* from _Monday_ the new plan applies to Support &amp; Operations. Please enter your "
           "absences until *Friday, 12:00*, and ask in <#C07INC4Q1> if something is unclear."),
    "u4": ("15:15", "C07INC4Q1", "1763978400.000700", True,
           "INC-88 will be over at about *15:15* if the load stays &lt; 70 %. <@U06NHA9E5> has told the customers."),
    "u6": ("60 %", "C07INC4Q1", "1763974800.000400", False,
           "<@U05PNO2F4> the new index is built to *60 %*; the next figure follows in an hour."),
}
ORDER = ["u1", "u2", "u3", "u4", "u5", "u6"]


def as_message(value):
    """The value if it is an object with a channel and a text."""
    if isinstance(value, dict) and FIELDS <= set(value):
        return value
    return None


def find_message(value):
    """The message in a record of a call, whether the record has the body parsed, as JSON text or as a form."""
    if as_message(value):
        return value
    if isinstance(value, (dict, list)):
        parts = value.values() if isinstance(value, dict) else value
        return next((found for found in map(find_message, parts) if found), None)
    if isinstance(value, str):
        try:
            return as_message(json.loads(value))
        except ValueError:
            return as_message({k: v[0] for k, v in urllib.parse.parse_qs(value).items()})
    return None


def strings(value):
    if isinstance(value, str):
        yield value
    elif isinstance(value, (dict, list)):
        for part in value.values() if isinstance(value, dict) else value:
            yield from strings(part)


def is_post(call):
    """Whether a record is a call of the route that posts."""
    return any(word.split("?")[0].endswith(ROUTE) for value in strings(call) for word in value.split())


def posts():
    with open(CALLS, encoding="utf-8") as handle:
        calls = [json.loads(line) for line in handle if line.strip()]
    result = [m for m in map(find_message, filter(is_post, calls)) if m]
    if not result:
        raise ValueError("nothing was posted")
    return result


def post(key):
    phrase = EXPECTED[key][0]
    found = [p for p in posts() if phrase in str(p["text"])]
    if not found:
        raise ValueError("not posted: " + key)
    return found[0]


def thread(message):
    return message.get("thread_ts") or None


def broadcast(message):
    return message.get("reply_broadcast") in (True, "true", "True", "1", 1)


def text_of(message):
    text = " ".join(str(message["text"]).split())
    return re.sub(r"<(https?://[^|>\s]+)", lambda m: "<" + m.group(1).replace("&amp;", "&"), text)


def record():
    with open(POSTED, encoding="utf-8-sig") as handle:
        return json.load(handle)


def placed(key):
    message = post(key)
    return message["channel"] == EXPECTED[key][1] and thread(message) == EXPECTED[key][2]


def test_answers_in_threads():
    return placed("u1") and placed("u2")


def test_continued_conversation():
    return placed("u6")


def test_announcement():
    return placed("u3") and not broadcast(post("u3"))


def test_answer_for_everybody():
    return placed("u4") and [k for k in EXPECTED if broadcast(post(k))] == ["u4"]


def test_each_once():
    found = posts()
    return len(found) == len(EXPECTED) and all(
        sum(e[0] in str(p["text"]) for p in found) == 1 for e in EXPECTED.values())


def test_mentions():
    pattern = r"<([@#][A-Z0-9]+)>"
    return all(re.findall(pattern, str(post(k)["text"])) == re.findall(pattern, e[4]) for k, e in EXPECTED.items())


def test_texts():
    return all(text_of(post(k)) == e[4] for k, e in EXPECTED.items())


def test_reaction():
    entry = [e for e in record() if e.get("id") == "u5"]
    return (len(entry) == 1 and entry[0].get("action") == "reaction" and entry[0].get("channel") == "C07PAY8Z2"
            and entry[0].get("ts") == "1763976000.000600"
            and re.fullmatch(r"[a-z0-9_+'-]+", str(entry[0].get("emoji"))) is not None)


def test_record_agrees():
    entries = record()
    if [e.get("id") for e in entries] != ORDER:
        return False
    for entry in entries:
        if entry["id"] == "u5":
            continue
        message = post(entry["id"])
        if (entry.get("action") != "message" or entry.get("channel") != message["channel"]
                or entry.get("thread_ts", "missing") != thread(message)
                or entry.get("broadcast") is not broadcast(message)):
            return False
    return True


TESTS = [test_answers_in_threads, test_continued_conversation, test_announcement, test_answer_for_everybody,
         test_each_once, test_mentions, test_texts, test_reaction, test_record_agrees]


def main():
    reward = {}
    for test in TESTS:
        try:
            reward[test.__name__] = 1 if test() else 0
        except Exception as error:
            print(test.__name__, repr(error))
            reward[test.__name__] = 0
    os.makedirs("/logs/verifier", exist_ok=True)
    with open("/logs/verifier/reward.json", "w") as handle:
        json.dump(reward, handle, indent=1)
    print(reward)


main()
