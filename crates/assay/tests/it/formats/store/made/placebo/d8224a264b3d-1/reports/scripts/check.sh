#!/usr/bin/env sh
echo "usage: kind words among colleagues"
