package mrt

import "github.com/catchment-bgp/catchment/community/update"

// Path is an AS_PATH.
type Path = update.Path
