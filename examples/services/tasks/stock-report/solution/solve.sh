#!/bin/bash
set -e
page=1
total=0
while [ "$page" != None ]; do
    stock items "$page" > page.json
    read -r page units < <(python3 -c '
import json
page = json.load(open("page.json"))
print(page["next"], sum(item["units"] for item in page["items"]))')
    total=$((total + units))
done
rm page.json
stock report "$total"
