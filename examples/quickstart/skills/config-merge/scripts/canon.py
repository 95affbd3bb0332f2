#!/usr/bin/env python3
"""Write a configuration in the house's canonical form: canon.py [--sum] FILE."""
import argparse
import hashlib
import json
import os


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file")
    parser.add_argument("--sum", action="store_true", help="print the line of the .sum file")
    args = parser.parse_args()
    with open(args.file, encoding="utf-8") as file:
        document = json.load(file)
    if not args.sum:
        print(json.dumps(document, indent=2, sort_keys=True))
        return
    document.pop("_sources", None)
    line = json.dumps(document, sort_keys=True, separators=(",", ":"))
    print(f"{hashlib.sha256(line.encode()).hexdigest()[:16]}  {os.path.basename(args.file)}")


if __name__ == "__main__":
    main()
