// Package words has words.
package words

// Greeting greets somebody.
func Greeting(name string) string {
	return "good morning, " + name
}
