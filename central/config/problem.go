package config

import "github.com/catchment-bgp/catchment/internal/problem"

// Problem is one thing wrong in a file.
type Problem = problem.Problem

// Errors is everything that keeps a file from being used, by line.
type Errors = problem.Errors
