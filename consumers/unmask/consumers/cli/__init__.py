"""The command line: each module here whose name has no leading underscore is one command of `unmask`."""
