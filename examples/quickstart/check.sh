#!/bin/bash
# Checks the tasks of this suite without assay: check.sh [TASK]...
# Each task is worked in a bubblewrap sandbox four times. The solution and the good move have to pass the task's
# own verifier; doing nothing and the plain move have to fail it.
set -u
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
bad=0

box() { # box W COMMAND...: run in a sandbox with W/app as /app
  local w=$1
  shift
  bwrap --unshare-all --die-with-parent --new-session --clearenv --setenv PATH /usr/local/bin:/usr/bin:/bin \
    --setenv HOME /tmp --setenv LANG C.UTF-8 --ro-bind /usr /usr --symlink usr/bin /bin --symlink usr/lib /lib \
    --symlink usr/lib64 /lib64 --proc /proc --dev /dev --tmpfs /tmp --bind "$w/app" /app --chdir /app "${mounts[@]}" \
    timeout 30 "$@"
}

attempt() { # attempt TASK NAME WANTED [SCRIPT]: work, verify, compare the reward
  local w="$work/$1-$2" reward
  mkdir -p "$w/app" "$w/logs"
  cp -r "$here/tasks/$1/environment/data" "$w/app/data"
  mounts=(--ro-bind "$here/skills" /skills)
  if [ -n "${4-}" ] && ! box "$w" bash -c "$(cat "$4")" >"$w/work.log" 2>&1; then
    echo "$1: $2: the script failed:" && cat "$w/work.log"
    bad=1
  fi
  mounts=(--ro-bind "$here/tasks/$1/tests" /tests --bind "$w/logs" /logs/verifier)
  box "$w" bash -c /tests/test.sh >"$w/test.log" 2>&1
  reward=$(cat "$w/logs/reward.txt" 2>/dev/null)
  if [ "$reward" != "$3" ] || [ ! -s "$w/logs/ctrf.json" ]; then
    echo "$1: $2: reward ${reward:-none}, wanted $3" && cat "$w/test.log"
    bad=1
  fi
}

[ $# -gt 0 ] || set -- $(ls "$here/tasks")
first=$(ls "$here/tasks" | head -1)
for task; do
  folder=$here/tasks/$task
  cmp "$here/tasks/$first/tests/harness.py" "$folder/tests/harness.py" || bad=1
  cmp "$here/tasks/$first/tests/test.sh" "$folder/tests/test.sh" || bad=1
  diff -r "$folder/environment/data" "$folder/tests/inputs" || bad=1
  good=$here/moves/$task-good.sh # where there is none, the model plays the solution
  attempt "$task" nop 0
  attempt "$task" oracle 1 "$folder/solution/solve.sh"
  [ ! -e "$good" ] || attempt "$task" good 1 "$good"
  attempt "$task" plain 0 "$here/moves/$task-plain.sh"
  echo "$task: checked"
done
exit $bad
