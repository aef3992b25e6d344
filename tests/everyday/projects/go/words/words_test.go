package words

import (
	"os"
	"testing"
)

func TestGreeting(t *testing.T) {
	if got := Greeting("you"); got != "good morning, you" {
		t.Fatal(got)
	}
	if messy() != 1 {
		t.Fatal("messy")
	}
}

func TestTemporaryFolder(t *testing.T) {
	if err := os.WriteFile(t.TempDir()+"/a", []byte("a"), 0o600); err != nil {
		t.Fatal(err)
	}
}

func BenchmarkGreeting(b *testing.B) {
	for i := 0; i < b.N; i++ {
		Greeting("you")
	}
}
