#!/bin/bash
# The branch starts at the version's tag and changes one file; everything else is as before; the issue is closed.
cd /app/shop || exit 1
git() { command git -c safe.directory=/app/shop -c core.fsmonitor=false "$@"; }
holds() {
  local status=passed
  echo "$1: $2"
  [ "$2" = "$3" ] || { status=failed; reward=0; }
  results="$results${results:+, }{\"name\": \"$1\", \"status\": \"$status\"}"
}
reward=1
results=
holds parent "$(git rev-parse hotfix/7~1)" "$(git rev-parse v1.0)"
holds files "$(git diff --name-only v1.0 hotfix/7)" price.py
holds tax "$(git show hotfix/7:price.py | grep '^TAX')" 'TAX = 0.19'
holds main "$(git log -1 --format=%s main)" 'Add discounts'
holds uncommitted "$(git diff main -- discount.py | grep '^+DISCOUNT')" '+DISCOUNT = 0.10'
closed=$(grep '"tool":"close_issue"' /logs/doubles.jsonl | grep '"known":true' | grep -c '"comment":"hotfix/7"')
holds closed "$closed" 1
echo "{\"reward\": $reward}" > /logs/verifier/reward.json
echo "{\"results\": {\"tests\": [$results]}}" > /logs/verifier/ctrf.json
