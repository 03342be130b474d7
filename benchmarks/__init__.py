"""Measurements that anyone can repeat; times are ratios within one run."""
