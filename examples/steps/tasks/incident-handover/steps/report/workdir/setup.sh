#!/bin/bash
# The log is gone in the second session.
rm -f data/events.log
