package community_test

import (
	"fmt"

	"github.com/catchment-bgp/catchment/community"
)

func ExampleParse() {
	for _, text := range []string{"57629:101", "57629:1:101", "rt:57629:101", "soo:192.0.2.1:5", "no-export", "65536:100"} {
		v, err := community.Parse(text)
		if err != nil {
			fmt.Println(err)
			continue
		}
		fmt.Printf("%s %s %q\n", v.Kind(), v, v.Name())
	}
	// Output:
	// standard 57629:101 ""
	// large 57629:1:101 ""
	// extended rt:57629:101 ""
	// extended ro:192.0.2.1:5 ""
	// standard 65535:65281 "no-export"
	// 65536:100: AS 65536 does not fit a standard community; write 65536:0:100
}

func ExampleValue_AppendWire() {
	fmt.Printf("% x\n", community.NewLarge(57629, 1, 101).AppendWire(nil))
	// Output: 00 00 e1 1d 00 00 00 01 00 00 00 65
}

func ExampleSet() {
	tags := community.NewSet(community.NewLarge(57629, 1, 101), community.NewStandard(57629, 101))
	drained := tags.Union(community.NewSet(community.GracefulShutdown))
	fmt.Println(drained)
	fmt.Println(drained.Of(community.Standard))
	fmt.Println(drained.Without(tags))
	// Output:
	// [57629:101 65535:0 57629:1:101]
	// [57629:101 65535:0]
	// [65535:0]
}
