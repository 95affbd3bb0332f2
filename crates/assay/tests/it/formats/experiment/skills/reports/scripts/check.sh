#!/bin/bash
test -s "$1" && echo checked
