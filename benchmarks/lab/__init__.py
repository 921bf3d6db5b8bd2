"""The emulated cluster: hosts as network namespaces behind a switch with shaped links."""
