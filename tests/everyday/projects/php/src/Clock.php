<?php

namespace Clock;

final class Clock
{
    public static function hands(int $minutes): string
    {
        return sprintf('%02d:%02d', intdiv($minutes, 60), $minutes % 60);
    }
}
