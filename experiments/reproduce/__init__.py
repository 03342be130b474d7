"""The paper's evaluation, table by table, with the certified optimum beside it."""
