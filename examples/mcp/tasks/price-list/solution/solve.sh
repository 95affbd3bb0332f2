#!/bin/bash
set -e
python3 - <<'PROGRAM'
import json
import re
import urllib.request
from decimal import ROUND_HALF_UP, Decimal

call = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "tools/call",
    "params": {"name": "find_article", "arguments": {"name": "lantern"}},
}
request = urllib.request.Request("http://catalogue:8000/mcp", json.dumps(call).encode())
answer = json.load(urllib.request.urlopen(request))
net = Decimal(re.search(r"[0-9.]+", answer["result"]["content"][0]["text"])[0])
gross = (net * Decimal("1.19")).quantize(Decimal("0.01"), ROUND_HALF_UP)
open("price.txt", "w").write(f"{gross}\n")
PROGRAM
