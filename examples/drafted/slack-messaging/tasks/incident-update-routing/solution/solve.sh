#!/bin/bash
set -e
cat > /tmp/post_updates.py <<'PY'
import json
import re
import urllib.request

BASE = "http://127.0.0.1:8080"
opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))


def get(path):
    with opener.open(BASE + path, timeout=30) as answer:
        return json.loads(answer.read().decode("utf-8"))


def send(message):
    request = urllib.request.Request(BASE + "/api/chat.postMessage", data=json.dumps(message).encode("utf-8"),
                                     headers={"Content-Type": "application/json; charset=utf-8"}, method="POST")
    with opener.open(request, timeout=30) as answer:
        if not json.loads(answer.read().decode("utf-8")).get("ok"):
            raise SystemExit("not posted: %r" % message)


channels = {c["name"]: c["id"] for c in get("/archive/channels") if not c["is_archived"]}
users = {u["real_name"]: u["id"] for u in get("/archive/users") if not u["deleted"]}
history = {name: get("/archive/" + ident + "/messages") for name, ident in channels.items()}


def esc(text):
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def slack(text):
    text = esc(text)
    text = re.sub(r"(?<!\*)\*(?!\*)([^*]+)\*(?!\*)", r"_\1_", text)
    text = re.sub(r"\*\*(.+?)\*\*", r"*\1*", text)
    text = re.sub(r"\[([^\]]+)\]\((https?://[^)]+)\)", r"<\2|\1>", text)
    for name, ident in users.items():
        text = text.replace("@" + name, "<@" + ident + ">")
    for name in sorted(channels, key=len, reverse=True):
        text = text.replace("#" + name, "<#" + channels[name] + ">")
    return text


def last(channel, phrase):
    """The latest message of a channel that has the phrase."""
    return [m for m in history[channel] if phrase in m["text"]][-1]


# What the notes mean: channel, a phrase of the message that is answered, whether everybody has to see the reply
plan = {
    "u1": ("incidents", "Are the refunds affected", False),
    "u2": ("payments", "Can we send the settlement file", False),
    "u3": ("general", None, False),
    "u4": ("incidents", "when INC-88 will be over", True),
    "u5": ("payments", "switch the payouts to manual mode", None),
    "u6": ("incidents", "the search index is stale", False),
}

posted = []
for update in json.load(open("/app/updates.json", encoding="utf-8")):
    name, phrase, everybody = plan[update["id"]]
    channel = channels[name]
    target = last(name, phrase) if phrase else None
    if everybody is None:
        posted.append({"id": update["id"], "action": "reaction", "channel": channel, "ts": target["ts"],
                       "emoji": "thumbsup"})
        continue
    message = {"channel": channel, "text": slack(update["text"])}
    parent = None
    if target:
        parent = target.get("thread_ts", target["ts"])
        message["thread_ts"] = parent
    if everybody:
        message["reply_broadcast"] = True
    send(message)
    posted.append({"id": update["id"], "action": "message", "channel": channel, "thread_ts": parent,
                   "broadcast": everybody})

with open("/app/posted.json", "w", encoding="utf-8") as handle:
    json.dump(posted, handle, indent=1)
PY
python3 /tmp/post_updates.py
