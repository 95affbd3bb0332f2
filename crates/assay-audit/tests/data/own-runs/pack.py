#!/usr/bin/env python3
"""Pack a finished run with its requests and replies into test data.

    pack.py STORE QUEUES own-runs.tar.zst [--forbid TEXT]...

STORE is the store of the run `own-runs`. QUEUES has one folder of req-NNNN.json and rep-NNNN.json for each condition. The archive
has `store/`, with the trials of agents but not those that check the tasks, and `requests/`. A request repeats the
conversation before it, so only the messages since the last reply are kept; a request that begins a conversation is kept
whole. Packing fails if a trial is missing, if a --forbid text occurs, or if the archive is larger than 2 MB.
"""
import argparse
import io
import json
import pathlib
import subprocess
import sys
import tarfile

LIMIT = 2_000_000
RUN = "own-runs"
TRIALS = {("none", 1): 8, ("curated", 1): 8, ("curated", 2): 4, ("negative", 1): 8}


def trials(store):
    """The folders of finished trials of agents, and how many there are of each condition and repetition."""
    folders, count = [], {}
    for path in sorted(store.glob("trials/*/*/record.json")):
        record = json.loads(path.read_text())
        if not record.get("condition"):
            continue
        if record["outcome"] == "infrastructure":
            sys.exit(f"{record['task']}, {record['condition']}: infrastructure error")
        key = (record["condition"], record["repetition"])
        count[key] = count.get(key, 0) + 1
        folders.append(path.parent)
    if count != TRIALS:
        sys.exit(f"trials: found {count}, expected {TRIALS}")
    return folders


def requests(queues):
    """Each queue's requests and replies, the requests without what an earlier one has."""
    for queue in sorted(path for path in queues.iterdir() if path.is_dir()):
        for path in sorted(queue.glob("req-*.json")):
            request = json.loads(path.read_text())
            messages = request["messages"]
            before = [at for at, message in enumerate(messages) if message["role"] == "assistant"]
            if before:
                kept = {"model": request["model"], "omitted_messages": before[-1] + 1}
                kept |= {"task": next(m["content"] for m in messages if m["role"] == "user")}
                request = kept | {"messages": messages[before[-1] + 1 :]}
            yield f"requests/{queue.name}/{path.name}", json.dumps(request, indent=1, ensure_ascii=False) + "\n"
            reply = path.with_name(path.name.replace("req-", "rep-"))
            if reply.exists():
                yield f"requests/{queue.name}/{reply.name}", reply.read_text().rstrip("\n") + "\n"


def members(store, queues):
    names = [store / "store.json", *(store / "skills").glob("*"), *(store / "runs" / RUN).glob("*")]
    for folder in trials(store):
        names += [path for path in folder.rglob("*") if path.is_file()]
    for path in sorted(names):
        yield f"store/{path.relative_to(store)}", path.read_bytes()
    for name, text in requests(queues):
        yield name, text.encode()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("store", type=pathlib.Path)
    parser.add_argument("queues", type=pathlib.Path)
    parser.add_argument("archive", type=pathlib.Path)
    parser.add_argument("--forbid", action="append", default=[], help="fail if a packed file has this text")
    args = parser.parse_args()
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.USTAR_FORMAT) as tar:
        for name, data in members(args.store, args.queues):
            for text in args.forbid:
                if text.encode() in data:
                    sys.exit(f"{name} has {text}")
            info = tarfile.TarInfo(name)
            info.size, info.mode = len(data), 0o644
            tar.addfile(info, io.BytesIO(data))
    packed = subprocess.run(["zstd", "-19", "--long=27", "-c"], input=buffer.getvalue(), stdout=subprocess.PIPE, check=True)
    if len(packed.stdout) > LIMIT:
        sys.exit(f"{len(packed.stdout):,} bytes, at most {LIMIT:,}")
    args.archive.write_bytes(packed.stdout)
    print(f"{args.archive}: {len(packed.stdout):,} bytes, {len(buffer.getvalue()):,} unpacked")


if __name__ == "__main__":
    main()
