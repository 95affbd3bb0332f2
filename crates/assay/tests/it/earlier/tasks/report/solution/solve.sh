#!/bin/bash
echo right > answer.txt
