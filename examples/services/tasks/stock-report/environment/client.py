#!/usr/bin/env python3
"""The client of the stock service: `stock items [PAGE]`, `stock report TOTAL`."""

import sys
import urllib.request

match sys.argv[1:]:
    case ["items", *page]:
        request = "http://stock:8000/items" + "".join(f"?page={number}" for number in page)
    case ["report", total]:
        request = urllib.request.Request("http://stock:8000/reports", data=total.encode())
    case _:
        sys.exit(__doc__)
with urllib.request.urlopen(request, timeout=10) as answer:
    print(answer.read().decode())
