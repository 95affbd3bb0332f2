#!/bin/bash
set -e
version=$(ask-user "Which version is released?" | grep -o '[0-9.]*[0-9]')
{
  echo "# Ledger $version"
  echo
  gh pr list --state merged | sort -n | while IFS=$(printf '\t') read -r number title _; do
    gh pr view "$number" | grep -q '^labels:.*internal' || echo "- $title (#$number)"
  done
} > announcement.md
