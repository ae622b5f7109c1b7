// Command hello is what the tests of Binary build.
package main

import "fmt"

func main() { fmt.Println("hello") }
