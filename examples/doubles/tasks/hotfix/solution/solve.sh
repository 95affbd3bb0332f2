#!/bin/bash
set -e
mcp-call tracker get_issue '{"number": 7}'
cd shop
# In a folder of its own, so that the uncommitted change stays.
git worktree add -q -b hotfix/7 /tmp/hotfix v1.0
sed -i 's/^TAX = .*/TAX = 0.19/' /tmp/hotfix/price.py
git -C /tmp/hotfix commit -qam "Use a tax of 19%"
git worktree remove /tmp/hotfix
mcp-call tracker close_issue '{"number": 7, "comment": "hotfix/7"}'
