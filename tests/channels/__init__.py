"""The whole story on channels: real gateways, fake platforms, one model script."""
