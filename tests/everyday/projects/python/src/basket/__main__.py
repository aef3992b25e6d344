import sys

from basket import total

print(total(float(price) for price in sys.argv[1:]))
