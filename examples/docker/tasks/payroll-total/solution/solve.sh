#!/bin/bash
cd /app && payroll-sum data/payroll.csv --even > total.txt
