import os

class Half(
    def method(self):
        return (1

def whole(x):
    return x

x = {{{
def after(y): pass
