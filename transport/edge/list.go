package edge

// AllRoutes is everything a gateway with every port serves, in the table's order. It starts nothing.
func AllRoutes() []Route {
	return table(&Options{Home: struct{ Home }{}, Onboarding: struct{ Onboarding }{}, Config: struct{ Config }{}, Files: struct{ Files }{}, Tools: struct{ Tools }{},
		Models: struct{ Models }{}, Queue: struct{ ModelQueue }{}, Setup: struct{ ModelSetup }{}, Secrets: struct{ Secrets }{}, Plans: struct{ Plans }{}, Usage: struct{ Usage }{}, Notices: struct{ Notifications }{}, Stop: struct{ Stopper }{}})
}
