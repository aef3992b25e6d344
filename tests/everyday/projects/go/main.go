package main

import (
	"fmt"

	"example.org/greeter/words"
)

//go:generate sh -c "echo package main > generated.go"

func main() {
	fmt.Println(words.Greeting("world"))
}
