package words
func  messy( ) int { return 1 }
