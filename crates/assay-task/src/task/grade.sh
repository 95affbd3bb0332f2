#!/bin/bash
# Runs verify.sh in the work folder, which is the current one, and makes a reward of its exit status.
set -u
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd) || exit 1
above=$(dirname "$here")
logs=${above%/}/logs
score() {
  rm -rf "$logs/verifier/reward.json" "$logs/verifier/reward.txt"
  printf '%s\n' "$1" >"$logs/verifier/reward.txt"
  exit
}

# What the agent left under this name is not the grader's.
chmod u+rwx . 2>/dev/null
if [ -d .runner ] && [ ! -L .runner ]; then chmod -R u+rwx .runner 2>/dev/null; fi
rm -rf .runner
if ! mkdir .runner; then
  echo 'the agent left a work folder that cannot be written to'
  score 0
fi
final=$logs/agent/final.txt
if [ -f "$final" ] && [ ! -L "$final" ]; then
  cat "$final" >.runner/final.txt
else
  : >.runner/final.txt
fi

bash "$here/tasks/task/verify.sh" </dev/null
status=$?
echo "$status" >"$logs/verifier/exit-status.txt"
for name in score.json notes.txt; do
  if [ -f ".runner/$name" ] && [ ! -L ".runner/$name" ] && [ ! -L .runner ]; then
    cat ".runner/$name" >"$logs/verifier/$name"
  fi
done
if [ "$status" -eq 0 ]; then score 1; else score 0; fi
